import curvesFile from './curves.json' with { type: 'json' };
import oidsFile from './oids.json' with { type: 'json' };

/** An elliptic curve of a standard. */
interface NamedCurve {
  /** The name of the registry that gives its object identifier. */
  readonly name: string;
  /** Size of the field. */
  readonly bits: number;
  /** Undefined where no registry gives one. */
  readonly oid: string | undefined;
}

/** What a registry says that an object identifier stands for. */
interface IdentifiedAlgorithm {
  /** A name that says what the algorithm is, or the name of a curve. */
  readonly name: string;
  /** The registry. */
  readonly source: string;
}

interface CurveEntry {
  readonly name: string;
  readonly bits: number;
  readonly oids?: readonly string[];
  readonly aliases?: readonly string[];
}

const CURVES = new Map<string, NamedCurve>();
const IDENTIFIERS = new Map<string, IdentifiedAlgorithm>();

for (const { name, bits, oids = [], aliases = [] } of curvesFile.curves as readonly CurveEntry[]) {
  const curve = { name, bits, oid: oids[0] };
  for (const key of [name, ...aliases, ...oids]) CURVES.set(bareName(key), curve);
  for (const oid of oids) IDENTIFIERS.set(oid, { name, source: curvesFile.sources.join('; ') });
}
// SM2 and a few more are a curve and an algorithm at once: the algorithm says more.
for (const { source, names } of oidsFile.registries)
  for (const [oid, name] of Object.entries(names)) IDENTIFIERS.set(oid, { name, source });

/** The algorithm or curve of an object identifier in dotted form; undefined for one that no registry here gives. */
export function findByOid(oid: string): IdentifiedAlgorithm | undefined {
  return IDENTIFIERS.get(oid);
}

/** Its name alone. */
export function nameByOid(oid: string): string | undefined {
  return findByOid(oid)?.name;
}

/** A curve by any of its names, in any spelling of case, hyphens and blanks, or by its object identifier in dotted form. */
export function findCurve(nameOrOid: string): NamedCurve | undefined {
  return CURVES.get(bareName(nameOrOid));
}

/** All names of curves, in the spelling of `findCurve`. */
export function curveNames(): readonly string[] {
  return [...CURVES.keys()].filter((name) => !/^[\d.]+$/.test(name));
}

/** Dots are kept: they are the only thing between the numbers of an identifier. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_/-]/g, '');
}
