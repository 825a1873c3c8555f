import type { EntityManager } from 'typeorm';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { isId } from '../../platform/database/new-id.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import {
  editOf,
  type SealedClass,
  sealedClasses,
  type SealedEntity,
  sealedOptions,
} from '../../platform/sealing/sealed-entity.js';

/** EarlierRow is a row whose edit counter is behind the audit log: the row was restored together with its seal. */
export interface EarlierRow {
  readonly table: string;
  readonly id: string;
  readonly edit: number;
  readonly logged: number;
  /** RowText of the row. */
  readonly text: string;
}

/** earlierRows returns the rows that are older than the log. */
export async function earlierRows(tx: EntityManager, { edits }: Pick<RightsHistory, 'edits'>): Promise<EarlierRow[]> {
  const ids = [...edits.keys()].filter(isId);
  const found: EarlierRow[] = [];
  for (const entity of sealedClasses()) {
    if (sealedOptions(entity).edits === undefined) continue;
    const text = sealsOf(tx).rowText(entity);
    const rows = await tx
      .createQueryBuilder(entity as SealedClass<SealedEntity & { readonly id: string }>, 't')
      .where('t.id = ANY(:ids::uuid[])', { ids })
      .getMany();
    for (const row of rows) {
      const [edit, logged] = [editOf(entity, row) ?? 0, edits.get(row.id) ?? 0];
      if (edit < logged) found.push({ table: text.table, id: row.id, edit, logged, text: text.textOf(row) });
    }
  }
  return found;
}
