import { randomBytes, randomInt } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PIN_DIGITS = 16;
/** SVC_JWT_SECRET requires at least 32 characters per secret. */
const SECRET_BYTES = 48;

/** Account is the system account of the systemd units. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Installation reads and writes /etc/sealwright, the configuration directory of the systemd units: settings in `sealwright.env`, secrets in `secrets/`
 * (root, 0600), the PIN in `pkcs11-pin` (service account, 0400). Existing values are kept, so that setup can be repeated.
 */
export class Installation {
  constructor(
    private readonly etc: string,
    private readonly account: Account,
  ) {}

  /** Returns the settings that have a value. */
  async settings(): Promise<Record<string, string>> {
    const lines = (await this.read('sealwright.env')).split('\n').filter((line) => /^[A-Z][A-Z0-9_]*=/.test(line));
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  }

  /** Appends missing settings and returns their names. Throws if a value contains a line break. */
  async addSettings(wanted: Readonly<Record<string, string>>): Promise<string[]> {
    const present = await this.settings();
    const missing = Object.entries(wanted).filter(([name]) => present[name] === undefined);
    const broken = missing.find(([, value]) => /[\r\n]/.test(value));
    if (broken !== undefined) throw new Error(`${broken[0]} must be a single line`);
    if (missing.length === 0) return [];
    const text = await this.read('sealwright.env');
    const separator = text === '' || text.endsWith('\n') ? '' : '\n';
    const added = missing.map(([name, value]) => `${name}=${value}\n`).join('');
    await this.replace('sealwright.env', `${text}${separator}${added}`, 0o644);
    return missing.map(([name]) => name);
  }

  /** Returns the secret, or undefined if its file is missing or empty. */
  async secret(name: string): Promise<string | undefined> {
    return (await this.read(join('secrets', name))).trim() || undefined;
  }

  /** Returns the secret, creating it with `make()` if it does not exist. */
  async ensureSecret(name: string, make: () => string): Promise<string> {
    const present = await this.secret(name);
    if (present !== undefined) return present;
    const value = make();
    await mkdir(join(this.etc, 'secrets'), { recursive: true, mode: 0o700 });
    await this.replace(join('secrets', name), value, 0o600);
    return value;
  }

  /** Returns the PIN. Creates the PIN file, which the key process reads, if it does not exist. */
  async ensurePin(): Promise<string> {
    const present = (await this.read('pkcs11-pin')).trim();
    if (present !== '') return present;
    const pin = newPin();
    await this.replace('pkcs11-pin', pin, 0o400, this.account);
    return pin;
  }

  private async read(name: string): Promise<string> {
    return readFile(join(this.etc, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
  }

  /** Replaces the file atomically. Other accounts cannot read the temporary file. */
  private async replace(name: string, text: string, mode: number, owner: Account = { uid: 0, gid: 0 }): Promise<void> {
    const file = join(this.etc, name);
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await chown(`${file}.new`, owner.uid, owner.gid);
    await chmod(`${file}.new`, mode);
    await rename(`${file}.new`, file);
  }
}

/** newSecret returns 48 random bytes as base64url. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** newPin returns 16 random decimal digits, which every PKCS #11 token accepts. */
export function newPin(): string {
  return Array.from({ length: PIN_DIGITS }, () => randomInt(10)).join('');
}
