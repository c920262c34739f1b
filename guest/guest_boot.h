/*
 * guest_boot - the guest as the first process of a VM.
 *
 * The kernel starts this process from the initrd. The process reads the kernel's command line
 * and mounts the system's file systems. The process loads the modules of /modules that the
 * machine needs, in the order of their names. The process makes the disk the root and sets the
 * machine's name. After these steps the process keeps a guest running until the guest gets
 * Shutdown, and powers the machine off. After an error the process writes the reason to the
 * console and powers the machine off, too. If a machine has failed, its host starts the machine
 * again, or reports why it does not start the machine again.
 *
 * Words of the kernel's command line, all without blanks:
 *
 *	cadre.workspace=UUID  cadre.name=NAME  cadre.team=TEAM  cadre.agent=AGENT
 *	cadre.listen=ADDRESS  where the guest listens: serial:FOLDER or vsock:any.
 *	cadre.ip=A.B.C.D/N  cadre.gateway=A.B.C.D  cadre.dns=A.B.C.D,...
 *	cadre.http=PORT       port of the door for teammates, at the address of cadre.ip.
 *	cadre.restores=N      number of times that the disk was put back to a snapshot.
 *	cadre.probe           write BOOT_ALIVE to the console and power off.
 */
#ifndef GUEST_GUEST_BOOT_H
#define GUEST_GUEST_BOOT_H

#define BOOT_ALIVE "cadre: alive"

/* Folder of the VM's sockets, its links to ports, and the program `cadre`. */
#define BOOT_RUN "/run/cadre"
#define BOOT_PORTS "/dev/virtio-ports"

/* Whether this process is the first process of a machine. */
int boot_is_wanted(void);

/* Runs the machine until it powers off; never returns. */
_Noreturn void boot_main(const char *version);

#endif
