/** The path of a command, or undefined when it is not there. */
export function commandPath(name: string): string | undefined;
/** The SoftHSM module, or undefined when it is not there. */
export function softhsmLibrary(): string | undefined;
/** Path of a Chromium, its headless shell first, or undefined when there is none. */
export function chromium(): string | undefined;
