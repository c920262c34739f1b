/*
 * guest_boot - the guest as the first process of a VM.
 *
 * The kernel starts this process from the initrd with the words of its command line.
 * The process mounts the system's file systems, loads the modules of /modules in the
 * order of their names, makes the disk the root, and names the machine.  Then it keeps
 * a guest running until the guest is told to shut down, and the machine powers off.
 * After an error the console has the reason, and the machine powers off too: the host
 * starts the machine again or says why not.
 *
 * Words of the kernel's command line, all without blanks:
 *
 *	cadre.workspace=UUID  cadre.name=NAME  cadre.team=TEAM  cadre.agent=AGENT
 *	cadre.listen=ADDRESS  where the guest listens: serial:FOLDER or vsock:any.
 *	cadre.ip=A.B.C.D/N  cadre.gateway=A.B.C.D  cadre.dns=A.B.C.D,...
 *	cadre.http=PORT       of the door for teammates, at the address of cadre.ip.
 *	cadre.restores=N      how often the disk was put back to a snapshot.
 *	cadre.probe           say BOOT_ALIVE on the console and power off.
 */
#ifndef GUEST_GUEST_BOOT_H
#define GUEST_GUEST_BOOT_H

#define BOOT_ALIVE "cadre: alive"

/* Folder of the VM's sockets and links, and of the program itself. */
#define BOOT_RUN "/run/cadre"
#define BOOT_PORTS "/dev/virtio-ports"

/* Whether this process is a machine's first. */
int boot_is_wanted(void);

/* Never returns. */
_Noreturn void boot_main(const char *version);

#endif
