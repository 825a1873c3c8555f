/**
 * When a place (`o`) of a source (`i`) was last confirmed. A source of whole documents confirms all that it does not miss each time it
 * reports, also when it reports the same bytes; so not every place needs to be written then.
 */
export const LAST_SEEN = `(CASE WHEN o.missed = 0 AND i.document_id IS NOT NULL THEN greatest(o.last_seen, i.last_seen) ELSE o.last_seen END)`;
