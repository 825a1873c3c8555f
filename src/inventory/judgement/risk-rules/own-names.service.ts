import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../../access/caller.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Clock } from '../../../platform/work/clock.js';
import type { OwnName } from '../../model/rule-set.js';
import { readAlgorithm } from '../names/algorithm-uses.js';
import { RiskRuleSet } from '../risk/risk-rule-set.entity.js';
import { RuleBook } from '../risk/rule-book.js';
import { taughtKey } from '../names/taught-names.js';
import { Reclassifier } from './reclassifier.js';

/** MAX_NAMES is the maximum number of names. All names are stored with each version of the rules. */
const MAX_NAMES = 1000;

interface NameChange {
  readonly before: OwnName | null;
  readonly after: OwnName | null;
}

/**
 * OwnNamesService manages user-defined meanings of algorithm names that are not in any vocabulary. Each change creates a new version of the rules. All assets
 * are then reclassified (docs/decisions/0100).
 */
@Injectable()
export class OwnNamesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly book: RuleBook,
    private readonly reclassifier: Reclassifier,
    private readonly clock: Clock,
  ) {}

  async list(): Promise<readonly OwnName[]> {
    return (await this.book.current()).ruleSet.names ?? [];
  }

  /** @throws Problem 400 `name.meaning` if the meaning is not recognized, 409 `name.limit`. */
  teach(caller: Caller, { name, means, reason }: Pick<OwnName, 'name' | 'means' | 'reason'>): Promise<RiskRuleSet> {
    assertRead(means);
    const after = { name: name.trim(), means, reason, by: caller.id, at: this.clock.now().toISOString() };
    return this.change(caller, after.name, after);
  }

  /** @throws Problem 404 `name.missing`. */
  forget(caller: Caller, name: string): Promise<RiskRuleSet> {
    return this.change(caller, name.trim(), null);
  }

  private async change(caller: Caller, name: string, after: OwnName | null): Promise<RiskRuleSet> {
    const made = await this.db.transaction(async (tx) => {
      await this.book.lockRules(tx);
      const { version, ruleSet, followsProduct } = await this.book.read(tx);
      const names = ruleSet.names ?? [];
      const before = names.find((one) => taughtKey(one.name) === taughtKey(name)) ?? null;
      const next = changed(names, { before, after });
      await tx.insert(RiskRuleSet, {
        version: version + 1,
        edition: ruleSet.edition,
        rules: [...ruleSet.rules],
        names: next,
        followsProduct,
        changedRule: `name:${name}`,
        createdBy: caller.id,
      });
      await this.record(tx, caller, { name, version: version + 1, before, after });
      return tx.findOneByOrFail(RiskRuleSet, { version: version + 1 });
    });
    this.book.forget();
    this.reclassifier.wake();
    return made;
  }

  private record(
    tx: EntityManager,
    caller: Caller,
    { name, ...detail }: NameChange & { readonly name: string; readonly version: number },
  ): Promise<void> {
    const action = detail.after === null ? 'inventory.name-forgotten' : 'inventory.name-taught';
    return this.audit.appendBy(tx, caller, { action, target: { kind: 'algorithm-name', id: name }, detail });
  }
}

function changed(names: readonly OwnName[], { before, after }: NameChange): OwnName[] {
  if (before === null && after === null) throw new Problem('missing', 'name.missing', 'This name is not defined.');
  const others = names.filter((one) => one !== before);
  if (after === null) return others;
  if (before === null && names.length >= MAX_NAMES)
    throw new Problem('conflict', 'name.limit', `The limit of ${MAX_NAMES} names is reached. Delete one first.`);
  return [...others, after].sort((a, b) => (taughtKey(a.name) < taughtKey(b.name) ? -1 : 1));
}

/** Rejects a meaning that is not recognized, because an unrecognized meaning would not define any algorithm. */
function assertRead(means: string): void {
  const { uses, reading } = readAlgorithm(means);
  if (uses.length > 0 && reading.unread.length === 0 && !reading.mayBePublicKey) return;
  const detail = 'must be the name of a known algorithm, such as AES-256-GCM or ECDSA-P-256';
  throw new Problem('malformed', 'name.meaning', `/means: ${detail}.`, { errors: [{ pointer: '/means', detail }] });
}
