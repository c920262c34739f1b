// validate.mjs FILE: whether the document is OpenAPI 3.1, by a public validator.
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(process.argv[2]);
if (!result.valid || validator.version !== "3.1") {
	console.log(`version ${validator.version}:`, JSON.stringify(result.errors ?? [], null, 1).slice(0, 4000));
	process.exit(1);
}
// A validator that takes anything would find nothing.
const wrong = { openapi: "3.1.0", info: { title: "x", version: "1" }, paths: { "/a": { get: { responses: 7 } } } };
if ((await validator.validate(wrong)).valid) {
	console.log("the validator takes a wrong document");
	process.exit(1);
}
