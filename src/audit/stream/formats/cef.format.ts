import { isIP } from 'node:net';
import { PRODUCT_VERSION } from '../../../platform/observability/product-version.js';
import { redacted } from '../../../platform/observability/structured-logger.js';
import { withoutControls } from '../../../platform/text/truncate.js';
import { asciiJson, leafFactsOf, isTampered, type StreamedLeaf } from './streamed-leaf.js';

/** From 0 to 10, where 10 is the most severe. */
const SEVERITY: ReadonlyMap<string, number> = new Map(Object.entries({ done: 3, refused: 6, failed: 7 }));
const TAMPERED = 10;

/** Returns a leaf in ArcSight's Common Event Format, version 0. `externalId` and `cn1` identify the leaf; `cs3` contains the detail as JSON. */
export function cefOf(leaf: StreamedLeaf): string {
  const { log, number, kind, entryId } = leaf;
  const { action, outcome, at, actor, target, correlation, source, detail } = leafFactsOf(leaf);
  const severity = isTampered(leaf) ? TAMPERED : (SEVERITY.get(outcome) ?? TAMPERED);
  const head = ['CEF:0', 'Sealwright', 'Sealwright', PRODUCT_VERSION, action, action, String(severity)];
  const fields = {
    rt: at === '' ? '' : Date.parse(at),
    externalId: entryId,
    act: action,
    outcome,
    suid: actor.id,
    suser: actor.name,
    ...addressOf(source),
    cn1Label: 'number',
    cn1: number,
    cs1Label: 'log',
    cs1: log,
    cs2Label: 'target',
    cs2: `${target.kind} ${target.id}`,
    cs3Label: 'detail',
    cs3: asciiJson(leaf.record ?? detail),
    cs4Label: 'correlation',
    cs4: correlation,
    cs5Label: 'kind',
    cs5: kind,
  };
  const extension = Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${extensionValue(String(value))}`);
  return `${head.map(headerField).join('|')}|${extension.join(' ')}`;
}

/** Returns the fields for a client's IP address; IPv6 has a separate field. */
function addressOf(source: string): Record<string, string> {
  const version = isIP(source);
  if (version === 6) return { c6a2Label: 'Source IPv6 Address', c6a2: source };
  return version === 4 ? { src: source } : {};
}

function headerField(text: string): string {
  return withoutControls(text).replaceAll(/[\\|]/g, String.raw`\$&`);
}

function extensionValue(text: string): string {
  const escaped = redacted(text).replaceAll(/[\\=]/g, String.raw`\$&`);
  // CEF has an escape sequence for line breaks, but for no other control character.
  return withoutControls(escaped.replaceAll('\n', String.raw`\n`).replaceAll('\r', String.raw`\r`));
}
