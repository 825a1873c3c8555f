import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { KeyVault, type VaultKey } from '../../../hsm/key-vault.js';
import type { Login } from '../../../hosts/model/login.port.js';
import { SshConnections } from '../../../hosts/connections/ssh-connections.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import { wireMpint } from '../../../formats/ssh/wire.js';

/** What a host says to a key. Everything else, a network that fails or a host key that changed, is thrown. */
export type Verdict = 'accepted' | 'denied';

export interface KeyTrialResult {
  readonly hostId: string;
  readonly account: string;
  readonly correlation: string;
}

const HALF = 2;

/** Tries keys at the door of an account: over a connection of its own, with that one key offered, and no command run. */
@Injectable()
export class KeyTrial {
  constructor(
    private readonly connections: SshConnections,
    private readonly vault: KeyVault,
  ) {}

  /**
   * Whether the host would let the holder of this key in, asked without the private half: RFC 4252 section 7 lets a client
   * ask before it signs, and sshd answers by the same rules as if it had.
   */
  async wouldAccept({ hostId, account, correlation }: KeyTrialResult, blob: Buffer): Promise<Verdict> {
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
  withPrivateKey({ hostId, account, correlation }: KeyTrialResult, privateKey: Buffer): Promise<Verdict> {
    const login: Login = { kind: 'private-key', user: account, privateKey: privateKey.toString() };
    return this.connections.tryLogin(hostId, login, { correlation });
  }

  /** A whole login with an EC P-256 key that the HSM holds (RFC 5656 section 3.1.2). */
  withHsmKey({ hostId, account, correlation }: KeyTrialResult, blob: Buffer, key: VaultKey): Promise<Verdict> {
    const sign = async (data: Buffer): Promise<Buffer> => {
      const digest = createHash('sha256').update(data).digest();
      const signature = await this.vault.sign({ key, scheme: 'ecdsa-raw', algorithm: 'sha256', digest });
      const half = signature.length / HALF;
      return Buffer.concat([wireMpint(signature.subarray(0, half)), wireMpint(signature.subarray(half))]);
    };
    return this.connections.tryLogin(hostId, { kind: 'signer', user: account, publicKey: blob, sign }, { correlation });
  }
}
