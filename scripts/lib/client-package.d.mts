/** Builds an npm package and a .deb of the client, and returns the paths of the two files. */
export function packClient(): Promise<{ npm: string; deb: string }>;
