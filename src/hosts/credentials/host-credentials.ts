import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { HsmSeal } from '../../hsm/hsm-seal.js';
import { Problem } from '../../platform/errors/problem.js';
import type { PasswordLogin, PrivateKeyLogin } from '../model/ssh-session.port.js';
import { sshFingerprintOf } from '../../formats/ssh/public-key.js';
import type { Host } from '../model/host.entity.js';
import { type Destination, destinationText, type Hop } from '../model/jump-hosts.js';
import { PrivateKeys } from './private-keys/private-keys.service.js';

type StoredLogin = PrivateKeyLogin | PasswordLogin;

/** A credential as it is entered: a private key, or a password. */
export interface NewCredential {
  readonly user: string;
  readonly privateKey?: string;
  readonly passphrase?: string;
  readonly password?: string;
}

/** The columns of a host for its credential. */
export type KeptCredential = Pick<Host, 'loginUser' | 'credentialKind' | 'credential' | 'credentialFingerprint'>;

export const NO_CREDENTIAL: KeptCredential = {
  loginUser: null,
  credentialKind: null,
  credential: null,
  credentialFingerprint: null,
};

/** The service itself, when it reads a key without being asked. */
const SERVICE = 'service';

/** Bound to the destination. */
const PURPOSE = 'host credential for a destination';
/** The seal of earlier versions, which is bound to the id of the host alone. */
const UNBOUND_PURPOSE = 'host-credential';
/** First byte of what is bound to a destination; seals themselves begin with 1. */
const BOUND = 2;

/**
 * Credentials of hosts: written, sealed, opened to log in, and never shown again. A credential is sealed for one destination: at another
 * address, port, or through other hosts it cannot be unsealed, even if the record is changed in the database.
 */
@Injectable()
export class HostCredentials {
  constructor(
    private readonly seals: HsmSeal,
    private readonly privateKeys: PrivateKeys,
  ) {}

  /** Throws Problem `host.credential`, or one of those of PrivateKeys, when it cannot be used to log in. */
  async close(caller: Caller, destination: Destination, given: NewCredential): Promise<KeptCredential> {
    const { login, fingerprint } = await this.loginOf(caller, given);
    return {
      loginUser: given.user,
      credentialKind: login.kind,
      credential: await this.bind(destination, login),
      credentialFingerprint: fingerprint,
    };
  }

  /** Opens the private key of a credential once, for a credential that many hosts get. Throws as `close`. */
  async normalized(caller: Caller, given: NewCredential): Promise<NewCredential> {
    const { login } = await this.loginOf(caller, given);
    return login;
  }

  /**
   * Opens what was sealed for this destination. What a version before sealed, for the host alone, comes with `rebound`: the same for this
   * destination, to be stored in its place. Throws Problem `host.credential-elsewhere` when it was sealed for another destination.
   */
  async open(destination: Destination, sealed: Buffer): Promise<{ login: StoredLogin; rebound?: Buffer }> {
    if (sealed[0] === BOUND)
      return { login: await this.opened(PURPOSE, destinationText(destination), sealed.subarray(1)) };
    const { id } = destination[destination.length - 1] as Hop;
    const login = await this.withoutPassphrase(await this.opened(UNBOUND_PURPOSE, id, sealed));
    return { login, rebound: await this.bind(destination, login) };
  }

  /** A key that was stored with its passphrase, to be opened at every login. One that cannot be read any more stays as it is. */
  private async withoutPassphrase(login: StoredLogin): Promise<StoredLogin> {
    if (login.kind !== 'private-key' || login.passphrase === undefined) return login;
    const { user, privateKey, passphrase } = login;
    const order = { text: privateKey, passphrase, pointer: '/credential', caller: SERVICE };
    const key = await this.privateKeys.read(order).catch(() => undefined);
    return key === undefined ? login : { kind: 'private-key', user, privateKey: key.privateKey };
  }

  private async bind(destination: Destination, login: StoredLogin): Promise<Buffer> {
    const sealed = await this.seals.close(PURPOSE, destinationText(destination), Buffer.from(JSON.stringify(login)));
    return Buffer.concat([Buffer.from([BOUND]), sealed]);
  }

  private async opened(purpose: string, place: string, sealed: Buffer): Promise<StoredLogin> {
    try {
      return JSON.parse((await this.seals.open(purpose, place, sealed)).toString()) as StoredLogin;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'hsm.not-authentic') throw error;
      const detail = 'The credential was entered for another address, port or path to the host. Enter it again.';
      throw new Problem('conflict', 'host.credential-elsewhere', detail, { cause: error });
    }
  }

  private async loginOf(
    { id: caller }: Caller,
    given: NewCredential,
  ): Promise<{ login: StoredLogin; fingerprint: string | null }> {
    const { user, privateKey, passphrase, password } = given;
    if (privateKey !== undefined && password === undefined) {
      // Kept without its passphrase: one seal protects both, and no login has to derive a key again.
      const key = await this.privateKeys.read({ text: privateKey, passphrase, pointer: '/credential', caller });
      const login = { kind: 'private-key', user, privateKey: key.privateKey } as const;
      return { login, fingerprint: sshFingerprintOf(key.publicKey.blob) };
    }
    if (password !== undefined && privateKey === undefined && (passphrase ?? '') === '')
      return { login: { kind: 'password', user, password }, fingerprint: null };
    throw refusal('/credential', 'must have either privateKey (and its passphrase) or password');
  }
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'host.credential', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
