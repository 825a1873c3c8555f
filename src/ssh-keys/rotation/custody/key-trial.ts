import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { KeyVault, type VaultKey } from '../../../hsm/key-vault.js';
import type { Login } from '../../../hosts/model/ssh-session.port.js';
import { SshConnections } from '../../../hosts/connections/ssh-connections.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import { wireMpint } from '../../../formats/ssh/wire.js';

/** Answer of a host to a key. Everything else, such as a network fault or a changed host key, is thrown. */
export type Verdict = 'accepted' | 'denied';

/** The login that a key is tried for. */
export interface TrialLogin {
  readonly hostId: string;
  readonly account: string;
  readonly correlation: string;
}

/** Tries logins with one key, each over a connection of its own and without running a command. */
@Injectable()
export class KeyTrial {
  constructor(
    private readonly connections: SshConnections,
    private readonly vault: KeyVault,
  ) {}

  /**
   * Whether the host would accept a login with this key, asked without the private half: by RFC 4252 section 7 a client may
   * ask before it signs, and sshd applies the same rules to the question as to the login.
   */
  async wouldAccept({ hostId, account, correlation }: TrialLogin, blob: Buffer): Promise<Verdict> {
    let asked = false;
    const login: Login = {
      kind: 'signer',
      user: account,
      publicKey: blob,
      sign: () => {
        asked = true;
        return Promise.reject(new Problem('conflict', 'ssh-key.not-held', 'The private half is not here.'));
      },
    };
    try {
      return await this.connections.tryLogin(hostId, login, { correlation });
    } catch (error) {
      if (asked) return 'accepted';
      throw error;
    }
  }

  /** A whole login with the private key. */
  withPrivateKey({ hostId, account, correlation }: TrialLogin, privateKey: Buffer): Promise<Verdict> {
    const login: Login = { kind: 'private-key', user: account, privateKey: privateKey.toString() };
    return this.connections.tryLogin(hostId, login, { correlation });
  }

  /** A whole login with an EC P-256 key that the HSM holds (RFC 5656 section 3.1.2). */
  withHsmKey({ hostId, account, correlation }: TrialLogin, blob: Buffer, key: VaultKey): Promise<Verdict> {
    const sign = async (data: Buffer): Promise<Buffer> => {
      const digest = createHash('sha256').update(data).digest();
      const signature = await this.vault.sign({ key, scheme: 'ecdsa-raw', algorithm: 'sha256', digest });
      const half = signature.length / 2;
      return Buffer.concat([wireMpint(signature.subarray(0, half)), wireMpint(signature.subarray(half))]);
    };
    return this.connections.tryLogin(hostId, { kind: 'signer', user: account, publicKey: blob, sign }, { correlation });
  }
}
