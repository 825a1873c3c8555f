import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Verdict {
  readonly ok: boolean;
  /** Output of the program. */
  readonly text: string;
}

/** Runs a program as the receiver of a signed file does. Returns the output and whether the program succeeded. */
export function ask(program: string, args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}): Verdict {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...options });
  if (error !== undefined) throw error;
  return { ok: status === 0, text: `${stdout}${stderr}` };
}

export interface IssuedChain {
  /** PEM: the certificate and the intermediate authority. */
  readonly chain: string;
  readonly file: string;
}

/** A certificate authority run with openssl: a root and an issuing intermediate. Shares no code with the service. */
export class Authority {
  readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-ca-'));
  readonly root = join(this.directory, 'root.pem');
  readonly intermediate = join(this.directory, 'intermediate.pem');
  private count = 0;

  constructor() {
    const extensions = this.keep(
      'ca.ext',
      'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n',
    );
    const make = (name: string) => [
      'ecparam',
      '-name',
      'prime256v1',
      '-genkey',
      '-noout',
      '-out',
      join(this.directory, `${name}.key`),
    ];
    execFileSync('openssl', make('root'));
    execFileSync('openssl', make('intermediate'));
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    const rootKey = join(this.directory, 'root.key');
    const self = ['req', '-x509', '-new', '-key', rootKey, '-days', '30', '-out', this.root, '-subj', '/CN=Test Root'];
    execFileSync('openssl', [...self, ...usage]);
    const csr = join(this.directory, 'intermediate.csr');
    const key = join(this.directory, 'intermediate.key');
    execFileSync('openssl', ['req', '-new', '-key', key, '-subj', '/CN=Test Issuing', '-out', csr]);
    this.issueTo(csr, { by: 'root', out: this.intermediate, extensions });
  }

  /** Issues a certificate with the requested extensions, or with `extensions` in openssl's syntax. */
  issue(csr: string, { days = '30', extensions }: { days?: string; extensions?: string } = {}): IssuedChain {
    this.count += 1;
    const file = join(this.directory, `leaf-${this.count}.pem`);
    const request = this.keep(`leaf-${this.count}.csr`, csr);
    const ext = extensions === undefined ? undefined : this.keep(`leaf-${this.count}.ext`, extensions);
    this.issueTo(request, { by: 'intermediate', out: file, extensions: ext, days });
    return { file, chain: `${readFileSync(file, 'utf8')}${readFileSync(this.intermediate, 'utf8')}` };
  }

  keep(name: string, content: string | Buffer): string {
    const file = join(this.directory, name);
    writeFileSync(file, content);
    return file;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  private issueTo(csr: string, order: { by: string; out: string; extensions?: string; days?: string }): void {
    const { by, out, extensions, days = '30' } = order;
    const issuer = [
      '-CA',
      join(this.directory, `${by}.pem`),
      '-CAkey',
      join(this.directory, `${by}.key`),
      '-CAcreateserial',
    ];
    const wanted = extensions === undefined ? ['-copy_extensions', 'copyall'] : ['-extfile', extensions];
    const request = ['x509', '-req', '-in', csr, '-out', out, '-days', days, '-sha256'];
    execFileSync('openssl', [...request, ...issuer, ...wanted], { stdio: 'pipe' });
  }
}
