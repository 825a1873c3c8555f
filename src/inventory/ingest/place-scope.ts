import type { DraftHead } from '../model/document.js';
import type { PlaceScope } from './merge.js';
import type { KnownSource } from './source-owner.js';

/** Of which places of its source a document says whether they are still there. */
export function scopeOf({ replaces }: DraftHead, { toolContexts }: KnownSource): PlaceScope {
  if (replaces === undefined) return { own: undefined, others: toolContexts };
  // Written by the version before, unless a document of the source has used the same start since.
  const former = replaces.former.filter((start) => !toolContexts.includes(start));
  return { own: [...new Set([...replaces.contexts, ...former])], others: [] };
}
