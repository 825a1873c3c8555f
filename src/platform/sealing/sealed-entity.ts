import { Column } from 'typeorm';

/** SealedEntity is a table whose rows are credentials or rights. RowSeals computes and verifies the seal. */
export abstract class SealedEntity {
  /** Null: the row was never sealed, or it was revoked and grants nothing. */
  @Column('bytea', { nullable: true })
  seal: Buffer | null;
}

/**
 * SEAL_GENERATIONS numbers the upgrades that began to seal tables. Rows of the version before such an upgrade have no seal: they are accepted until it is
 * over, for the tables of this generation alone.
 */
export const SEAL_GENERATIONS = [1, 2] as const;
export type SealGeneration = (typeof SEAL_GENERATIONS)[number];

export type SealedClass<Row extends SealedEntity = SealedEntity> = new () => Row;

export interface SealedOptions<Row extends SealedEntity = SealedEntity> {
  /** Columns outside the seal. Anyone with database access can change them, so none may grant or restrict anything. */
  readonly except: readonly Exclude<keyof Row & string, 'seal'>[];
  /** SQL condition on the row `t`: the row still grants something. Other rows need no seal. */
  readonly while?: string;
  /** The upgrade that began to seal the table; 1 if absent. */
  readonly generation?: SealGeneration;
  /** A nullable column that counts the changes of a row (`changeSealed`), for RowSeals.newest. */
  readonly revision?: string;
  /** A column that lists rows of another table, so that a row deleted there is missed. */
  readonly list?: {
    readonly column: string;
    /** SQL of the list as it is now, for the row `t`. */
    readonly now: string;
  };
}

const SEALED = new Map<SealedClass, SealedOptions>();

/** Seals every column of an entity except those listed, so that a column added later is sealed unless its author decides otherwise. */
export function Sealed<Row extends SealedEntity>(options: SealedOptions<Row>): (target: SealedClass<Row>) => void {
  return (target) => void SEALED.set(target, options as unknown as SealedOptions);
}

/** The sealed entities; with a generation, those that it began to seal. */
export function sealedClasses(generation?: SealGeneration): readonly SealedClass[] {
  const all = [...SEALED.keys()];
  return generation === undefined ? all : all.filter((entity) => generationOf(entity) === generation);
}

export function generationOf(entity: SealedClass): SealGeneration {
  return sealedOptions(entity).generation ?? 1;
}

export function sealedOptions(entity: SealedClass): SealedOptions {
  const options = SEALED.get(entity);
  if (options === undefined) throw new Error(`${entity.name} is not sealed`);
  return options;
}
