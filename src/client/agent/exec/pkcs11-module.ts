import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';

const USR_LIB = '/usr/lib';
/** Fedora, Homebrew on both kinds of Macs. Debian and Ubuntu have a folder for each architecture below /usr/lib. */
const OTHER_PLACES = ['/usr/lib64', USR_LIB, '/opt/homebrew/lib', '/usr/local/lib'];

/** Path of the PKCS #11 module that tools load: p11-kit's client. ClientError that says what to install when there is none. */
export function pkcs11Module(): string {
  const found = inLibraries('pkcs11/p11-kit-client.so');
  if (found !== undefined) return found;
  throw new ClientError(
    EXIT.failed,
    "p11-kit's client module is missing: install p11-kit-modules (Debian, Ubuntu), p11-kit-server (Fedora) or p11-kit (Homebrew).",
  );
}

interface OpenSslModules {
  /** The engine of libp11, for OpenSSL 1.1 and 3. */
  readonly engine: string | undefined;
  /** The provider, for OpenSSL 3. */
  readonly provider: string | undefined;
}

export function openSslModules(): OpenSslModules {
  return { engine: inLibraries('engines-3/pkcs11.so'), provider: inLibraries('ossl-modules/pkcs11.so') };
}

function inLibraries(file: string): string | undefined {
  const folders = existsSync(USR_LIB) ? readdirSync(USR_LIB).filter((name) => name.includes('-linux-gnu')) : [];
  const places = [...folders.map((folder) => join(USR_LIB, folder)), ...OTHER_PLACES];
  return places.map((place) => join(place, file)).find((path) => existsSync(path));
}
