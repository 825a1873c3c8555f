import type { StreamDestination } from '../../../platform/config/stream-destinations.js';
import { PRODUCT_VERSION } from '../../../platform/observability/product-version.js';
import { truncate } from '../../../platform/text/truncate.js';
import { cefOf } from './cef.format.js';
import { jsonOf, fitted, isTampered, type StreamedLeaf } from './streamed-leaf.js';

/** RFC 5424 table 1: log audit. */
const FACILITY = 13;
/** RFC 5424 table 2: alert, error, warning, informational. */
const SEVERITY: ReadonlyMap<string, number> = new Map(Object.entries({ done: 6, refused: 4, failed: 3 }));
const ALERT = 1;
const NONE = '-';
/** Limits of RFC 5424 section 6. */
const MAX_HOSTNAME = 255;
const MAX_MSGID = 32;
const BOM = '\u{feff}';
const IS_ASCII = /^[ -~]*$/;

/** The settings of a destination that determine its messages. */
export type SyslogForm = Pick<StreamDestination, 'format' | 'maxBytes' | 'enterprise'>;

/**
 * Returns a leaf as an RFC 5425 frame: the number of octets, a space, and the RFC 5424 message. The message has no line break, and identifies the
 * leaf in its structured data.
 */
export function syslogFrame(leaf: StreamedLeaf, hostname: string, form: SyslogForm): string {
  const message = fitted(leaf, form.maxBytes, (part) => syslogMessage(part, hostname, form));
  return `${Buffer.byteLength(message)} ${message}`;
}

function syslogMessage(leaf: StreamedLeaf, hostname: string, { format, enterprise }: SyslogForm): string {
  const { log, number, kind, entryId, entry } = leaf;
  const severity = isTampered(leaf) ? ALERT : (SEVERITY.get(entry?.outcome ?? '') ?? ALERT);
  const header = [
    `<${FACILITY * 8 + severity}>1`,
    entry?.at ?? NONE,
    printable(hostname, MAX_HOSTNAME),
    'sealwright',
    NONE,
    printable(entry?.action ?? 'audit-log.missing', MAX_MSGID),
  ].join(' ');
  const origin = element('origin', { software: 'sealwright', swVersion: PRODUCT_VERSION });
  const place = element(`sealwright@${enterprise}`, { log, number: String(number), kind, id: entryId });
  return `${header} ${origin}${place} ${contentOf(leaf, format)}`;
}

/** Returns the MSG part. UTF-8 text begins with a BOM (RFC 5424 section 6.4). ASCII text needs no BOM, and JSON parsers reject a BOM. */
function contentOf(leaf: StreamedLeaf, format: SyslogForm['format']): string {
  if (format !== 'cef') return jsonOf(leaf);
  const text = cefOf(leaf);
  return IS_ASCII.test(text) ? text : `${BOM}${text}`;
}

/** Returns an element of the structured data (RFC 5424 section 6.3). */
function element(id: string, parameters: Readonly<Record<string, string>>): string {
  const written = Object.entries(parameters).map(
    ([name, value]) => ` ${name}="${value.replaceAll(/[^ -~]/g, '?').replaceAll(/["\\\]]/g, String.raw`\$&`)}"`,
  );
  return `[${id}${written.join('')}]`;
}

/** Returns the text as PRINTUSASCII (RFC 5424), without spaces or control characters. */
function printable(text: string, max: number): string {
  return truncate(text.replaceAll(/[^!-~]/g, '?'), max) || NONE;
}
