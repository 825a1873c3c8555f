import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import type { KeyConstraints } from './key-constraints.js';
import { changeKey } from './change-key.js';
import { startCounting } from './key-usage.js';
import { assertConstrainable, assertSpan } from './signing-keys.service.js';
import type { SigningKey } from './signing-key.entity.js';
import { SigningKeyReader } from './signing-key.reader.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';

/** KeyTerms contains the new terms of a key. An absent field is not changed; null removes a date. Constraints are replaced as a whole. */
export interface KeyTerms {
  readonly notBefore?: Date | null;
  readonly notAfter?: Date | null;
  readonly constraints?: KeyConstraints;
}

/** SigningKeyTermsService changes the validity period and the constraints of a key. After the commit, every request is evaluated against the new terms. */
@Injectable()
export class SigningKeyTermsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly reader: SigningKeyReader,
  ) {}

  /**
   * @param revision the key's revision as read by the caller
   * @throws Problem `request.stale` if the key has changed since
   */
  async change(caller: Caller, id: string, revision: number, terms: KeyTerms): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(caller, id);
    const { notBefore = key.notBefore, notAfter = key.notAfter, constraints = key.constraints } = terms;
    assertSpan(notBefore, notAfter);
    assertConstrainable(key.purpose, constraints);
    await this.db.transaction(async (tx) => {
      const isAsRead = (now: SigningKey) => now.revision === revision && ['ACTIVE', 'DISABLED'].includes(now.state);
      if ((await changeKey(tx, id, isAsRead, { notBefore, notAfter, constraints })) === undefined)
        throw await this.refusal(caller, id, revision);
      await startCounting(tx, id, constraints);
      const detail = { notBefore, notAfter, constraints };
      const target = { kind: 'signing-key', id };
      await this.audit.appendBy(tx, caller, { action: 'signing-key.changed', target, detail });
    });
    this.reader.forget(key);
    return this.reader.get(caller, id);
  }

  private async refusal(caller: Caller, id: string, revision: number): Promise<Problem> {
    const now = await this.reader.get(caller, id);
    if (now.revision !== revision) return staleProblem(`/api/v1/signing-keys/${id}`);
    return new Problem('conflict', 'signing-key.inactive', 'The key cannot be changed in its current state.');
  }
}
