import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SshFleet, KeyHolder, logIn, type LoginResult, type ManagedHost } from '../../test/support/rotations.js';
import type { ClientKey } from '../../test/support/sshd.js';

export const CUSTODIES = ['service', 'host'] as const;
export type Custody = (typeof CUSTODIES)[number];

/** Holder of a private key who logs in to one host. */
export interface Holder {
  /** Members that a rotation request requires for this holder. */
  readonly order: Record<string, unknown>;
  logIn(): Promise<LoginResult>;
  /** Returns the current private key, or an empty string if the holder has none. */
  privateKey(): Promise<string>;
  /** Returns the files that a finished rotation left behind on the holder's host. */
  leftBy(rotationId: string): string[];
}

export type FirstKey = ClientKey & { readonly id: string };

/** A holder who requests the key from the service before every login. */
export class ServiceHolder implements Holder {
  readonly order = { custody: 'service' };
  private readonly holder: KeyHolder;

  constructor(
    private readonly field: SshFleet,
    at: ManagedHost,
    private readonly first: FirstKey,
  ) {
    this.holder = new KeyHolder(field, at, first);
  }

  logIn(): Promise<LoginResult> {
    return this.holder.logIn();
  }

  async privateKey(): Promise<string> {
    return (await this.field.released(this.first.id))?.privateKey ?? '';
  }

  leftBy(): string[] {
    return [];
  }
}

/** A holder whose key is in a file of an account on another managed host. */
export class HostHolder implements Holder {
  readonly order: Record<string, unknown>;
  private readonly directory: string;
  private readonly file: string;

  constructor(
    keeper: ManagedHost,
    private readonly at: ManagedHost,
    first: FirstKey,
  ) {
    const name = `id_${at.id}`;
    this.directory = join(keeper.sshd.home('deploy'), '.ssh');
    this.file = join(this.directory, name);
    const holder = { hostId: keeper.id, account: 'deploy', path: `/home/deploy/.ssh/${name}` };
    this.order = { custody: 'host', holder };
    const { uid, gid } = statSync(this.directory);
    for (const [file, text] of [
      [this.file, first.privateKey],
      [`${this.file}.pub`, `${first.publicKey}\n`],
    ] as const) {
      writeFileSync(file, text);
      chownSync(file, uid, gid);
      chmodSync(file, 0o600);
    }
  }

  /** Uses the key file in its original directory, because ssh also reads the public key next to the file. */
  logIn(): Promise<LoginResult> {
    return logIn(this.at, this.file);
  }

  privateKey(): Promise<string> {
    return Promise.resolve(readFileSync(this.file, 'utf8'));
  }

  leftBy(rotationId: string): string[] {
    return readdirSync(this.directory).filter((name) => name.includes(rotationId));
  }
}
