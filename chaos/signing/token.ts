import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Environment } from './environment.js';

/** A private key with the attributes visible after login. */
export interface TokenKey {
  /** CKA_ID in hexadecimal. */
  readonly ckaId: string;
  readonly sensitive: boolean;
  readonly extractable: boolean;
  readonly alwaysSensitive: boolean;
  readonly neverExtractable: boolean;
  /** Results of reading the private value and of setting CKA_EXTRACTABLE or clearing CKA_SENSITIVE: the name of the CKR_ code, or `done`. */
  readonly readValue: string;
  readonly makeExtractable: string;
  readonly makeInsensitive: string;
}

/** Reads every private key of the token in a separate process, with the real module instead of the shim. */
export function readToken({ tokenAccess }: Environment): Promise<TokenKey[]> {
  const { library, label, environment, pin } = tokenAccess;
  return new Promise((resolve, reject) => {
    const program = join(import.meta.dirname, 'read-token.mjs');
    const child = execFile(
      process.execPath,
      [program, library, label],
      { env: { ...process.env, ...environment }, timeout: 30_000 },
      (error, stdout) => (error === null ? resolve(JSON.parse(stdout) as TokenKey[]) : reject(error)),
    );
    child.stdin?.end(pin);
  });
}
