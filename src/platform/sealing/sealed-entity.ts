import { Column } from 'typeorm';

/** SealedEntity is a table whose rows are credentials or rights. RowSeals computes and verifies the seal. */
export abstract class SealedEntity {
  /** Null if the row was never sealed, or was revoked and grants no rights. */
  @Column('bytea', { nullable: true })
  seal: Buffer | null;
}

/**
 * SEAL_GENERATIONS numbers the upgrades that introduced sealed tables. Rows written by the version before an upgrade have no seal. These rows are accepted
 * until the upgrade ends, and only in the tables of its generation.
 */
export const SEAL_GENERATIONS = [1, 2] as const;
export type SealGeneration = (typeof SEAL_GENERATIONS)[number];

export type SealedClass<Row extends SealedEntity = SealedEntity> = new () => Row;

export interface SealedOptions<Row extends SealedEntity = SealedEntity> {
  /** Columns not covered by the seal. Anyone with write access to the database can change these columns, so they must not grant or restrict rights. */
  readonly except: readonly Exclude<keyof Row & string, 'seal'>[];
  /** SQL condition on the row `t` that is true while the row grants rights. Other rows need no seal. */
  readonly while?: string;
  /** Upgrade that introduced the seal of the table. Defaults to 1. */
  readonly generation?: SealGeneration;
  /**
   * Column that each recorded edit increases: a number or a time. The audit log contains the value, so that a restored earlier row is detected. With several
   * columns, each edit increases at least one of them and decreases none, and the log contains their sum.
   */
  readonly edits?: string | readonly string[];
  /** True if `changeSealed` increments `edits`, a nullable number, with each change. */
  readonly countsEdits?: true;
  /** Column that lists the related rows of another table, so that deleted rows are detected. */
  readonly list?: {
    readonly column: string;
    /** SQL expression for the current list of the row `t`. */
    readonly now: string;
  };
}

const SEALED = new Map<SealedClass, SealedOptions>();

/** Sealed seals every column of an entity except the columns in `except`, so that columns added later are sealed by default. */
export function Sealed<Row extends SealedEntity>(options: SealedOptions<Row>): (target: SealedClass<Row>) => void {
  return (target) => void SEALED.set(target, options as unknown as SealedOptions);
}

/** sealedClasses returns the sealed entities, optionally of only one generation. */
export function sealedClasses(generation?: SealGeneration): readonly SealedClass[] {
  const all = [...SEALED.keys()];
  return generation === undefined ? all : all.filter((entity) => generationOf(entity) === generation);
}

export function generationOf(entity: SealedClass): SealGeneration {
  return sealedOptions(entity).generation ?? 1;
}

/** editOf returns the edit counter of a row, or undefined if the table has no edit counter. A missing value counts as 0. */
export function editOf<Row extends SealedEntity>(entity: SealedClass<Row>, row: Partial<Row>): number | undefined {
  const { edits } = sealedOptions(entity);
  if (edits === undefined) return undefined;
  return [edits].flat().reduce((sum, name) => sum + Number(row[name as keyof Row] ?? 0), 0);
}

export function sealedOptions(entity: SealedClass): SealedOptions {
  const options = SEALED.get(entity);
  if (options === undefined) throw new Error(`${entity.name} is not sealed`);
  return options;
}
