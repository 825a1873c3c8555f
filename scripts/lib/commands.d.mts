/** Returns the path of a command, or undefined if it is not installed. */
export function commandPath(name: string): string | undefined;
/** Returns the path of the SoftHSM module, or undefined if it is not installed. */
export function softhsmLibrary(): string | undefined;
/** Returns the path of Chromium, preferably of its headless shell, or undefined if it is not installed. */
export function chromium(): string | undefined;
