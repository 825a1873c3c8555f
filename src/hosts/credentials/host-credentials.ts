import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { HsmSeal } from '../../hsm/hsm-seal.js';
import { Problem } from '../../platform/errors/problem.js';
import type { PasswordLogin, PrivateKeyLogin } from '../model/ssh-session.port.js';
import { sshFingerprintOf } from '../../formats/ssh/public-key.js';
import type { Host } from '../model/host.entity.js';
import { type Destination, destinationText, type Hop } from '../model/jump-hosts.js';
import { PrivateKeys } from './private-keys.service.js';

type StoredLogin = PrivateKeyLogin | PasswordLogin;

/** NewCredential is a credential as entered by a user: a private key or a password. */
export interface NewCredential {
  readonly user: string;
  readonly privateKey?: string;
  readonly passphrase?: string;
  readonly password?: string;
}

/** KeptCredential contains the columns of a host that store its credential. */
export type KeptCredential = Pick<Host, 'loginUser' | 'credentialKind' | 'credential' | 'credentialFingerprint'>;

export const NO_CREDENTIAL: KeptCredential = {
  loginUser: null,
  credentialKind: null,
  credential: null,
  credentialFingerprint: null,
};

/** Caller name for keys that the service parses without a request. */
const SERVICE = 'service';

/** Seal purpose of credentials that are bound to a destination. */
const PURPOSE = 'host credential for a destination';
/** Seal purpose used by earlier versions, which bound credentials only to the host ID. */
const UNBOUND_PURPOSE = 'host-credential';
/** First byte of a credential that is bound to a destination. The seal follows. A bare seal begins with 1. */
const BOUND = 2;

/**
 * HostCredentials validates and seals host credentials, and opens them for logins. Credentials are never returned to API callers. A credential is sealed for
 * one destination and cannot be opened for another address, port or route, even if the record is modified directly in the database.
 */
@Injectable()
export class HostCredentials {
  constructor(
    private readonly seals: HsmSeal,
    private readonly privateKeys: PrivateKeys,
  ) {}

  /**
   * Seals a credential for a destination. Throws Problem `host.credential` or a Problem of PrivateKeys if the credential cannot be used to log in.
   */
  async close(caller: Caller, destination: Destination, given: NewCredential): Promise<KeptCredential> {
    const { login, fingerprint } = await this.loginOf(caller, given);
    return {
      loginUser: given.user,
      credentialKind: login.kind,
      credential: await this.bind(destination, login),
      credentialFingerprint: fingerprint,
    };
  }

  /** Returns a credential with its private key decrypted, so that a credential for many hosts is decrypted only once. Throws like `close`. */
  async normalized(caller: Caller, given: NewCredential): Promise<NewCredential> {
    const { login } = await this.loginOf(caller, given);
    return login;
  }

  /**
   * Opens a credential that was sealed for this destination. If an earlier version bound the credential only to the host, also returns `rebound`: the
   * credential sealed for this destination, which replaces the stored credential. Throws Problem `host.credential-elsewhere` if the credential was sealed for
   * another destination.
   */
  async open(destination: Destination, sealed: Buffer): Promise<{ login: StoredLogin; rebound?: Buffer }> {
    if (sealed[0] === BOUND)
      return { login: await this.opened(PURPOSE, destinationText(destination), sealed.subarray(1)) };
    const { id } = destination[destination.length - 1] as Hop;
    const login = await this.withoutPassphrase(await this.opened(UNBOUND_PURPOSE, id, sealed));
    return { login, rebound: await this.bind(destination, login) };
  }

  /**
   * Decrypts a stored key that has a passphrase, so that logins need not decrypt the key each time. Returns the login unchanged if the key can no longer be
   * parsed.
   */
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
      const detail =
        'The credential was entered for a different address, port or route to the host. Enter the credential again.';
      throw new Problem('conflict', 'host.credential-elsewhere', detail, { cause: error });
    }
  }

  private async loginOf(
    { id: caller }: Caller,
    given: NewCredential,
  ): Promise<{ login: StoredLogin; fingerprint: string | null }> {
    const { user, privateKey, passphrase, password } = given;
    if (privateKey !== undefined && password === undefined) {
      // The key is stored without its passphrase. The seal would protect the passphrase no better than the key, and logins need not repeat the key derivation.
      const key = await this.privateKeys.read({ text: privateKey, passphrase, pointer: '/credential', caller });
      const login = { kind: 'private-key', user, privateKey: key.privateKey } as const;
      return { login, fingerprint: sshFingerprintOf(key.publicKey.blob) };
    }
    if (password !== undefined && privateKey === undefined && (passphrase ?? '') === '')
      return { login: { kind: 'password', user, password }, fingerprint: null };
    throw refusal('/credential', 'must have either privateKey (with its passphrase) or password');
  }
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'host.credential', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
