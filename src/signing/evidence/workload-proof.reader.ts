import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SEALED_WORKLOAD_TOKEN, type VerifiedIdentity } from '../../access/identity/verified-identity.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { LastingSeal } from '../../platform/sealing/lasting-seal.js';

/** WorkloadProof is a verified identity with the data that third parties need to verify the identity. */
export interface WorkloadProof {
  readonly identity: VerifiedIdentity;
  /** Token as signed by the issuer; absent while another service might still accept it. */
  readonly token?: string;
  /** Time at which the token may be disclosed; absent if `token` is present. */
  readonly tokenFrom?: Date;
  /** The issuer's key that verified the token, as published at the time of verification. */
  readonly key: PublicJwk;
}

/** Time in seconds after expiry during which other services might still accept a token, because clocks differ. */
const ACCEPTED_LATE_SECONDS = 600;

/** WorkloadProofReader reads the identity proof of the workload that requested a signature. */
@Injectable()
export class WorkloadProofReader {
  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
  ) {}

  /**
   * Returns the proof of an identity. Omits a token that is still valid or expired only recently, because another service with the same audience might accept
   * the token.
   *
   * @throws Problem of the KeyVault, and `secret.not-openable`
   */
  async of(identity: VerifiedIdentity | null): Promise<WorkloadProof | undefined> {
    if (identity === null) return undefined;
    const [row]: { token: Buffer; from: Date; isOver: boolean; key: PublicJwk }[] = await this.db.query(
      `SELECT token, over AS "from", over < now() AS "isOver", key
       FROM workload_identity, LATERAL (SELECT token_expires_at + make_interval(secs => $2) AS over) late WHERE id = $1`,
      [identity.id, ACCEPTED_LATE_SECONDS],
    );
    if (row === undefined) throw new Error('the workload identity does not exist');
    const { token: sealed, from: tokenFrom, isOver, key } = row;
    if (!isOver) return { identity, key, tokenFrom };
    const token = await this.seal.open(SEALED_WORKLOAD_TOKEN.purpose, identity.id, sealed);
    return { identity, key, token: token.toString() };
  }
}
