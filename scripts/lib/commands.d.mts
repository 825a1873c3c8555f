/** The path of a command, or undefined when it is not there. */
export function commandPath(name: string): string | undefined;
/** The SoftHSM module, or undefined when it is not there. */
export function softhsmLibrary(): string | undefined;
