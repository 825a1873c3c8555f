import curvesFile from './curves.json' with { type: 'json' };
import oidsFile from './oids.json' with { type: 'json' };

/** Elliptic curve defined by a standard. */
interface NamedCurve {
  /** Name in the registry that assigns the object identifier. */
  readonly name: string;
  /** Size of the field in bits. */
  readonly bits: number;
  /** Object identifier in dotted form; undefined if no registry assigns an object identifier. */
  readonly oid: string | undefined;
}

/** Meaning of an object identifier in a registry. */
interface IdentifiedAlgorithm {
  /** Name of the algorithm or curve. */
  readonly name: string;
  /** Name of the registry. */
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
// A few names, such as SM2, are both a curve and an algorithm. The algorithm takes precedence, because it is more specific.
for (const { source, names } of oidsFile.registries)
  for (const [oid, name] of Object.entries(names)) IDENTIFIERS.set(oid, { name, source });

/** findByOid returns the algorithm or curve with an object identifier in dotted form, or undefined if no registry contains the object identifier. */
export function findByOid(oid: string): IdentifiedAlgorithm | undefined {
  return IDENTIFIERS.get(oid);
}

/** nameByOid is like `findByOid`, but returns only the name. */
export function nameByOid(oid: string): string | undefined {
  return findByOid(oid)?.name;
}

/** findCurve finds a curve by its object identifier in dotted form, or by any of its names, regardless of case, hyphens and spaces. */
export function findCurve(nameOrOid: string): NamedCurve | undefined {
  return CURVES.get(bareName(nameOrOid));
}

/** curveNames returns all curve names, in the normalized form that `findCurve` uses. */
export function curveNames(): readonly string[] {
  return [...CURVES.keys()].filter((name) => !/^[\d.]+$/.test(name));
}

/** Normalizes a name or OID. Dots are kept, because they separate the numbers of an OID. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_/-]/g, '');
}
