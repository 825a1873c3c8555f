import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Column, DataSource, Entity, Index, PrimaryColumn } from 'typeorm';
import { Background } from '../../../platform/work/background.js';

/** UsedProof records an accepted client assertion or DPoP proof, so that the proof is not accepted again. */
@Entity('used_proof')
@Index('used_proof_expires', ['expiresAt'])
export class UsedProof {
  /** SHA-256 of the proof's kind, owner and `jti`. */
  @PrimaryColumn('bytea')
  hash: Buffer;

  /** Time from which the proof is rejected as too old. */
  @Column('timestamptz')
  expiresAt: Date;
}

/** Identifies a proof: `jti` is unique only among the proofs of one key or client. */
export interface ProofName {
  readonly kind: 'client-assertion' | 'dpop';
  /** The ID of the client, or the thumbprint of the key. */
  readonly by: string;
  readonly jti: string;
}

/** Maximum length of a `jti`, in characters. */
export const MAX_JTI_LENGTH = 256;

/** Reports whether a claim is a valid `jti` (RFC 7519 section 4.1.7). */
export function isJti(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== '' && claim.length <= MAX_JTI_LENGTH;
}

/** UsedProofs records used proofs. All processes share the records. */
@Injectable()
export class UsedProofs {
  constructor(private readonly db: DataSource) {}

  /**
   * Records the use of a proof. Returns false if the proof was used before. For concurrent uses, only one call returns true, across all processes.
   *
   * @param until time from which the proof is rejected as too old
   */
  async take({ kind, by, jti }: ProofName, until: Date): Promise<boolean> {
    const hash = createHash('sha256')
      .update(JSON.stringify([kind, by, jti]))
      .digest();
    const rows: unknown[] = await this.db.query(
      `INSERT INTO used_proof (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING hash`,
      [hash, until],
    );
    return rows.length === 1;
  }

  /** Deletes records of proofs that are too old to be accepted. */
  @Background({ name: 'expired-proofs', scope: 'cluster', every: 15 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(`DELETE FROM used_proof WHERE expires_at < now()`);
  }
}
