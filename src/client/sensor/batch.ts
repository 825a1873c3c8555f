import { algorithmComponent, type SensorFinding, type FindingPlace, refOf } from './model/finding.js';

interface Item {
  readonly what: Record<string, unknown>;
  readonly places: Map<string, FindingPlace>;
}

/** Batch is one request to the service: the contents of a source, in the format of `POST /api/ingest`. */
export interface Batch {
  readonly scanId: string;
  readonly source: string;
  /** Whether the batch reports the whole source. If so, the service removes items that were reported earlier for the source and are now missing. */
  readonly complete: boolean;
  readonly assets: readonly Record<string, unknown>[];
}

/** Returns each item once, with all its locations and in a fixed order, so that the same findings produce the same bytes. */
export function batchAssetsOf(findings: readonly SensorFinding[]): Batch['assets'] {
  const items = new Map<string, Item>();
  for (const finding of findings) {
    const { certificate, publicKey, component, ref, dependsOn, place } = finding;
    const links = dependsOn === undefined || dependsOn.length === 0 ? {} : { dependsOn: [...dependsOn].sort() };
    const what = { certificate, publicKey, component, ...(component === undefined ? { ref } : {}), ...links };
    put(items, certificate ?? publicKey ?? component?.['bom-ref'] ?? '', what, place);
  }
  for (const algorithm of findings.flatMap(({ uses = [] }) => uses)) {
    if (!items.has(refOf(algorithm))) put(items, refOf(algorithm), { component: algorithmComponent(algorithm) });
  }
  return [...items.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => assetOf(item));
}

function put(items: Map<string, Item>, key: string, what: Record<string, unknown>, place?: FindingPlace): void {
  if (key === '') return;
  const item = items.get(key) ?? { what, places: new Map<string, FindingPlace>() };
  items.set(key, item);
  if (place !== undefined) item.places.set(JSON.stringify(place), place);
}

function assetOf({ what, places }: Item): Record<string, unknown> {
  const sorted = [...places.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
  return { ...what, ...(sorted.length === 0 ? {} : { occurrence: sorted }) };
}
