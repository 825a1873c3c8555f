import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { KeyVault, type VaultKey } from '../../../hsm/key-vault.js';
import type { Login } from '../../../hosts/model/ssh-session.port.js';
import { SshConnections } from '../../../hosts/connections/ssh-connections.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import { wireMpint } from '../../../formats/ssh/wire.js';

/** Verdict is a host's response to a key. Any other outcome, such as a network failure or a changed host key, is thrown. */
export type Verdict = 'accepted' | 'denied';

/** TrialLogin identifies the host and the account for which a key is tried. */
export interface TrialLogin {
  readonly hostId: string;
  readonly account: string;
  readonly correlation: string;
}

/** KeyTrial tries logins with one key. Each login uses a separate connection and runs no command. */
@Injectable()
export class KeyTrial {
  constructor(
    private readonly connections: SshConnections,
    private readonly vault: KeyVault,
  ) {}

  /**
   * Tests whether the host would accept a login with this key, without using the private key. RFC 4252 section 7 allows a client to query before signing, and
   * sshd applies the same rules to the query as to the login.
   */
  async wouldAccept({ hostId, account, correlation }: TrialLogin, blob: Buffer): Promise<Verdict> {
    let asked = false;
    const login: Login = {
      kind: 'signer',
      user: account,
      publicKey: blob,
      sign: () => {
        asked = true;
        return Promise.reject(new Problem('conflict', 'ssh-key.not-held', 'The private key is not available.'));
      },
    };
    try {
      return await this.connections.tryLogin(hostId, login, { correlation });
    } catch (error) {
      if (asked) return 'accepted';
      throw error;
    }
  }

  /** Performs a complete login with the private key. */
  withPrivateKey({ hostId, account, correlation }: TrialLogin, privateKey: Buffer): Promise<Verdict> {
    const login: Login = { kind: 'private-key', user: account, privateKey: privateKey.toString() };
    return this.connections.tryLogin(hostId, login, { correlation });
  }

  /** Performs a complete login with an EC P-256 key in the HSM (RFC 5656 section 3.1.2). */
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
