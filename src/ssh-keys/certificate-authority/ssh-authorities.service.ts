import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { type KeyIdentity, KeyVault } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/unique-write.js';
import { Problem } from '../../platform/http/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import { fingerprintOf, readPublicKeyLine, sshPublicKeyOfSpki } from '../../platform/ssh/public-key.js';
import { SshAuthority } from './ssh-authority.entity.js';
import { SshCertificate } from './ssh-certificate.entity.js';
import {
  certificateLine,
  certificateTypeOf,
  type CertificateContent,
  type CertificateKind,
  toBeSigned,
} from './ssh-certificate.js';

export interface CertificateOrder extends Omit<CertificateContent, 'kind' | 'key' | 'serial'> {
  /** `TYPE BASE64 [COMMENT]` */
  readonly publicKey: string;
}

const NONCE_BYTES = 32;

/** Certificate authorities whose keys are in the HSM, and the certificates that they issue. */
@Injectable()
export class SshAuthoritiesService {
  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
  ) {}

  /** Makes an authority with an EC P-256 key that cannot leave the HSM. Answers its id. */
  async create(caller: Caller, name: string, kind: CertificateKind, use?: IdempotentUse): Promise<string> {
    const known = await this.idempotency.known(use);
    if (known !== undefined) return known;
    const id = use?.resource ?? newId();
    const key = { ckaId: randomBytes(16), identity: identityOf(id) };
    const { publicKey, evidence } = await this.vault.generate({ ...key, type: 'ec-p256' });
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      await tx.insert(SshAuthority, { id, name, kind, ckaId: key.ckaId, publicKey });
      await this.audit.appendBy(tx, caller, entry('ssh-ca.created', id, { name, kind, ...evidence }));
      return id;
    };
    const detail = `There is an authority named "${name}" already.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    const taken = () => new Problem('conflict', 'ssh-ca.name-taken', detail, { errors });
    const made = await writeUnique(this.db, insert, taken).catch(async (error: unknown) => {
      // Refused, so nobody has it. Of a commit that was cut off nobody knows: a key too many is the lesser evil.
      if (error instanceof Problem) await this.vault.destroy(key);
      throw error;
    });
    if (made !== id) await this.vault.destroy(key);
    return made;
  }

  /** `RETIRING`: issues nothing more; hosts go on trusting it, so that another one can take over without a gap. */
  async retire(caller: Caller, id: string, state: 'RETIRING' | 'RETIRED'): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [, moved]: [unknown, number] = await tx.query(
        `UPDATE ssh_authority SET state = $2 WHERE id = $1 AND state = $3`,
        [id, state, state === 'RETIRING' ? 'ACTIVE' : 'RETIRING'],
      );
      if (moved !== 1) {
        // Whoever did not hear the answer asks again.
        if (await tx.existsBy(SshAuthority, { id, state })) return;
        throw await refusalOf(tx, id);
      }
      await this.audit.appendBy(tx, caller, entry(`ssh-ca.${state.toLowerCase()}`, id, {}));
    });
  }

  /**
   * The serial is taken, and what is certified written down, before the HSM is asked. Whoever repeats the call gets the same certificate: it is
   * signed then if it was not before.
   */
  async issue(
    caller: Caller,
    authorityId: string,
    order: CertificateOrder,
    use?: IdempotentUse,
  ): Promise<SshCertificate> {
    const key = readPublicKeyLine(order.publicKey);
    if (key === undefined || certificateTypeOf(key.type) === undefined) throw uncertifiable();
    const { keyId, principals, validAfter, validBefore } = order;
    if (validAfter >= validBefore) {
      const errors = [{ pointer: '/validBefore', detail: 'must be later than validAfter' }];
      throw new Problem('malformed', 'ssh-ca.dates', '/validBefore: must be later than validAfter.', { errors });
    }
    const fingerprint = fingerprintOf(key.blob);
    const written = await this.db.transaction(async (tx) => {
      const id = use?.resource ?? newId();
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const serial = await this.takeSerial(tx, authorityId);
      const facts = { keyId, fingerprint, principals: [...principals], validAfter, validBefore };
      await tx.insert(SshCertificate, { id, authorityId, serial, ...facts });
      const detail = { certificateId: id, serial, ...facts, validAfter: validAfter.toISOString() };
      await this.audit.appendBy(
        tx,
        caller,
        entry('ssh-ca.certified', authorityId, { ...detail, validBefore: validBefore.toISOString() }),
      );
      return id;
    });
    return this.signed(written, { ...order, key });
  }

  private async signed(id: string, content: Omit<CertificateContent, 'kind' | 'serial'>): Promise<SshCertificate> {
    const row = await this.db.manager.findOneByOrFail(SshCertificate, { id });
    if (row.certificate !== null) return row;
    const { authorityId, serial } = row;
    const authority = await this.db.manager.findOneByOrFail(SshAuthority, { id: authorityId });
    if (authority.state !== 'ACTIVE') throw inactive();
    const certificate = await this.sign(authority, { ...content, kind: authority.kind, serial: BigInt(serial) });
    await this.db.manager.update(SshCertificate, { id, certificate: IsNull() }, { certificate });
    return this.db.manager.findOneByOrFail(SshCertificate, { id });
  }

  private async sign(authority: SshAuthority, content: CertificateContent): Promise<string> {
    const { id, ckaId, publicKey } = authority;
    const bytes = toBeSigned(content, randomBytes(NONCE_BYTES), sshPublicKeyOfSpki(publicKey));
    const signature = await this.vault.sign({
      key: { ckaId, identity: identityOf(id), publicKey, type: 'ec-p256' },
      scheme: 'ecdsa-raw',
      algorithm: 'sha256',
      digest: createHash('sha256').update(bytes).digest(),
    });
    return certificateLine(content, bytes, signature);
  }

  private async takeSerial(tx: EntityManager, id: string): Promise<string> {
    const [rows]: [{ serial: string }[], number] = await tx.query(
      `UPDATE ssh_authority SET serial = serial + 1 WHERE id = $1 AND state = 'ACTIVE' RETURNING serial`,
      [id],
    );
    if (rows[0] !== undefined) return rows[0].serial;
    throw await refusalOf(tx, id);
  }
}

/** What the token must say of the key of an authority. */
function identityOf(id: string): KeyIdentity {
  return { purpose: 'ssh-ca', owner: id };
}

export function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'ssh-ca', id }, detail };
}

async function refusalOf(tx: EntityManager, id: string): Promise<Problem> {
  if (await tx.existsBy(SshAuthority, { id })) return inactive();
  return new Problem('missing', 'ssh-ca.missing', 'There is no SSH authority with this id.');
}

function inactive(): Problem {
  return new Problem('conflict', 'ssh-ca.inactive', 'The state of the authority does not allow it.');
}

function uncertifiable(): Problem {
  const detail = 'must be an Ed25519, RSA or ECDSA public key of the form TYPE BASE64';
  return new Problem('malformed', 'ssh-key.unreadable', `/publicKey: ${detail}.`, {
    errors: [{ pointer: '/publicKey', detail }],
  });
}
