import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * What a signing request needs beyond a bare signature over its digest: written with the request, so that every attempt, by
 * whichever process, signs the same bytes. A request for a raw signature without timestamp has none.
 */
@Entity('signing_envelope')
export class SigningEnvelope {
  @PrimaryColumn('uuid')
  requestId: string;

  /** SpcIndirectDataContent, DER; `authenticode` only. */
  @Column('bytea', { nullable: true })
  content: Buffer | null;

  /** The bytes that are signed in place of the request's digest; null when it is signed itself. */
  @Column('bytea', { nullable: true })
  toBeSigned: Buffer | null;

  /** The hash of these bytes: the digest that the HSM gets. */
  @Column('bytea', { nullable: true })
  signedDigest: Buffer | null;

  /** A timestamp over the signature is part of the answer. */
  @Column('boolean')
  timestamped: boolean;

  /** TimeStampToken (RFC 3161), DER. */
  @Column('bytea', { nullable: true })
  timestampToken: Buffer | null;
}
