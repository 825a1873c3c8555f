import { existsSync, readFileSync } from 'node:fs';

/** CLIENT_VERSION is the version of the program, according to the package.json of the checkout or of the client package. */
export const CLIENT_VERSION = manifest().version;

/** CLIENT_BUILD is the version with the commit from which the program was built: `1.4.0+1f2e3d4c5b6a`. */
export const CLIENT_BUILD = `${CLIENT_VERSION}+${manifest().gitHead ?? builtCommit() ?? 'unknown'}`;

/** Reads package.json. npm records the commit of the client package in `gitHead`. */
function manifest(): { version: string; gitHead?: string } {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
    gitHead?: string;
  };
}

function builtCommit(): string | undefined {
  const file = new URL('../../build.json', import.meta.url);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { commit: string }).commit : undefined;
}
