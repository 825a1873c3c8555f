import { Injectable } from '@nestjs/common';
import { HsmSeal } from '../../hsm/hsm-seal.js';
import { Problem } from '../../platform/http/problem.js';
import ssh2 from 'ssh2';
import type { Login } from '../connections/login.port.js';
import { fingerprintOf } from '../../platform/ssh/public-key.js';
import type { Host } from '../records/host.entity.js';

/** What somebody gives us to log in with: a private key, or a password. */
export interface NewCredential {
  readonly user: string;
  readonly privateKey?: string;
  readonly passphrase?: string;
  readonly password?: string;
}

/** What the row of a host keeps of it. */
export type KeptCredential = Pick<Host, 'loginUser' | 'credentialKind' | 'credential' | 'credentialFingerprint'>;

export const NO_CREDENTIAL: KeptCredential = {
  loginUser: null,
  credentialKind: null,
  credential: null,
  credentialFingerprint: null,
};

const PURPOSE = 'host-credential';

/** Credentials of hosts: written, sealed, opened to log in, and never shown again. */
@Injectable()
export class HostCredentials {
  constructor(private readonly seals: HsmSeal) {}

  /** Throws Problem `host.credential` when it cannot be used to log in. */
  async close(hostId: string, given: NewCredential): Promise<KeptCredential> {
    const login = loginOf(given);
    const credentialFingerprint = login.kind === 'private-key' ? fingerprintOfLogin(login) : null;
    const secret = Buffer.from(JSON.stringify(login));
    return {
      loginUser: given.user,
      credentialKind: login.kind,
      credential: await this.seals.close(PURPOSE, hostId, secret),
      credentialFingerprint,
    };
  }

  async open(hostId: string, sealed: Buffer): Promise<Login> {
    return JSON.parse((await this.seals.open(PURPOSE, hostId, sealed)).toString()) as Login;
  }
}

function loginOf({ user, privateKey, passphrase, password }: NewCredential): Exclude<Login, { kind: 'signer' }> {
  if (privateKey !== undefined && password === undefined)
    return { kind: 'private-key', user, privateKey, ...(passphrase === undefined ? {} : { passphrase }) };
  if (password !== undefined && privateKey === undefined && passphrase === undefined)
    return { kind: 'password', user, password };
  throw refusal('/credential', 'must have either privateKey (and its passphrase) or password');
}

function fingerprintOfLogin({ privateKey, passphrase }: { privateKey: string; passphrase?: string }): string {
  const parsed = ssh2.utils.parseKey(privateKey, passphrase);
  // The parser's words are about the format only, but what it says is not for us to promise.
  if (parsed instanceof Error) {
    if (/passphrase|decrypt|integrity|bad/i.test(parsed.message))
      throw refusal('/credential/passphrase', 'does not open the private key');
    throw refusal('/credential/privateKey', 'must be a private key in OpenSSH or PEM format');
  }
  if (!parsed.isPrivateKey()) throw refusal('/credential/privateKey', 'must be a private key, this is a public one');
  return fingerprintOf(parsed.getPublicSSH());
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'host.credential', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
