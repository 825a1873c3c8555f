import type { CdxComponent } from './document.js';

/** Name of the property that keeps a member which CycloneDX 1.6 cannot express, by the path of the member in its component. */
export function keptMemberName(path: string): string {
  return `sealwright:cyclonedx:${path}`;
}

/** A member that `asVersion16` has taken out of a component, by its path; undefined when there was none. */
export function keptMember({ properties }: CdxComponent, path: string): unknown {
  const kept = properties?.find(({ name }) => name === keptMemberName(path))?.value;
  if (kept === undefined) return undefined;
  try {
    return JSON.parse(kept);
  } catch {
    return undefined;
  }
}
