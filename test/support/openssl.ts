import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rawToDer } from '../../src/hsm/signatures/ecdsa.js';

export interface Claim {
  /** Public key as PEM. */
  readonly publicKey: string;
  /** Name of the hash algorithm in the API: sha256, sha3-384 … */
  readonly algorithm: string;
  readonly scheme: string;
  readonly signature: Buffer;
}

const PSS = ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:digest'];

/** Runs the openssl command as the receiver of a signed file does. */
export class Openssl {
  private readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-openssl-'));

  /** Returns the hash of the file in base64: `openssl dgst -binary | base64`. */
  digest(file: string, algorithm: string): string {
    return execFileSync('openssl', ['dgst', `-${algorithm}`, '-binary', file]).toString('base64');
  }

  /** Reports whether `openssl dgst -verify` prints "Verified OK". */
  accepts(file: string, { publicKey, algorithm, scheme, signature }: Claim): boolean {
    const pem = this.keep('key.pem', publicKey);
    // openssl reads ECDSA signatures only as DER.
    const sig = this.keep('file.sig', scheme === 'ecdsa-raw' ? rawToDer(signature) : signature);
    const options = scheme === 'rsa-pss' ? PSS : [];
    const args = ['dgst', `-${algorithm}`, '-verify', pem, '-signature', sig, ...options, file];
    const { stdout, stderr, status } = spawnSync('openssl', args, { encoding: 'utf8' });
    if (status !== 0 && status !== 1) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
    return stdout.trim() === 'Verified OK';
  }

  /** Writes a file to be signed and returns the file's path. */
  keep(name: string, content: string | Buffer): string {
    const file = join(this.directory, name);
    writeFileSync(file, content);
    return file;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Returns a self-signed certificate in PEM. The key is a new RSA key unless `args` of `openssl req` override it. */
export function selfSigned(...args: string[]): string {
  const subject = ['-subj', '/CN=other', '-days', '9', '-keyout', '/dev/null'];
  const all = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...args];
  return execFileSync('openssl', all, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
}
