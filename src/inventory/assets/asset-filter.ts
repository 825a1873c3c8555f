import type { Level } from '../risk/risk-verdict.js';
import { levelNumber } from '../risk/risk-verdict.js';
import type { AssetKind, AssetState } from './asset-kind.js';

export interface AssetFilter {
  readonly kind?: AssetKind;
  readonly state?: AssetState;
  readonly level?: Level;
  readonly minLevel?: Level;
  readonly family?: string;
  readonly quantum?: string;
  readonly classical?: string;
  readonly rule?: string;
  /** Start of the name. */
  readonly name?: string;
  /** Name of a source. */
  readonly source?: string;
  /** Start of a location. */
  readonly location?: string;
  readonly expiresBefore?: Date;
}

/** Conditions on the table `alias` and their parameters, which are numbered from `first`. */
export function conditionsOf(filter: AssetFilter, alias: string, first = 1): { where: string[]; values: unknown[] } {
  const where: string[] = [];
  const values: unknown[] = [];
  const add = (value: unknown, condition: (parameter: string) => string) => {
    if (value === undefined) return;
    values.push(value);
    where.push(condition(`$${first + values.length - 1}`));
  };
  for (const column of ['kind', 'state', 'family', 'quantum', 'classical', 'rule'] as const)
    add(filter[column], (parameter) => `${alias}.${column} = ${parameter}`);
  add(numberOf(filter.level), (parameter) => `${alias}.level = ${parameter}`);
  add(numberOf(filter.minLevel), (parameter) => `${alias}.level >= ${parameter}`);
  add(filter.name, (parameter) => `starts_with(${alias}.name, ${parameter})`);
  add(filter.expiresBefore, (parameter) => `${alias}.not_after < ${parameter}`);
  add(
    filter.source,
    (parameter) => `EXISTS (SELECT FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id
      WHERE o.asset_id = ${alias}.id AND o.missed = 0 AND i.name = ${parameter})`,
  );
  add(
    filter.location,
    (parameter) =>
      `EXISTS (SELECT FROM asset_occurrence o WHERE o.asset_id = ${alias}.id AND starts_with(o.location, ${parameter}))`,
  );
  return { where, values };
}

function numberOf(level: Level | undefined): number | undefined {
  return level === undefined ? undefined : levelNumber(level);
}
