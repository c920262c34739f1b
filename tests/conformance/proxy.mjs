// proxy - shows the token of a client that has none to a host: node proxy.mjs HOST-URL TOKEN
// Prints its own URL.  Host and Origin go on as they came, where they do not name the proxy.
import http from 'node:http';

const [, , target, token] = process.argv;
const to = new URL(target);
const own = (name) => new RegExp(`^(http://)?(localhost|127\\.0\\.0\\.1):${server.address().port}$`).test(name ?? '');

const server = http.createServer((request, answer) => {
	const headers = { ...request.headers, authorization: `Bearer ${token}` };
	if (own(headers.host)) headers.host = to.host;
	if (own(headers.origin)) headers.origin = to.origin;
	const on = http.request({ host: to.hostname, port: to.port, path: request.url, method: request.method, headers }, (from) => {
		answer.writeHead(from.statusCode, from.headers);
		answer.flushHeaders();
		from.pipe(answer);
	});
	on.on('error', () => answer.destroy());
	answer.on('close', () => on.destroy());
	request.pipe(on);
});
server.listen(0, '127.0.0.1', () => console.log(`http://localhost:${server.address().port}`));
