/** Makes the packages of the client alone from dist/, and answers their paths. */
export function packClient(): Promise<{ npm: string; deb: string }>;
