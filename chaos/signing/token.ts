import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Environment } from './environment.js';

/** A private key as the token shows it after login. */
export interface TokenKey {
  /** Hexadecimal. */
  readonly ckaId: string;
  readonly sensitive: boolean;
  readonly extractable: boolean;
  readonly alwaysSensitive: boolean;
  readonly neverExtractable: boolean;
  /** What the token answered to reading the private value and to making the key extractable: names of CKR_ codes, or `done`. */
  readonly readValue: string;
  readonly makeExtractable: string;
  readonly makeInsensitive: string;
}

/** Reads every private key of the token, in a process of its own, with the module itself and not through the shim. */
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
