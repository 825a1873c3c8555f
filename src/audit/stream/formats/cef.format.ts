import { isIP } from 'node:net';
import { PRODUCT_VERSION } from '../../../platform/instances/product-version.js';
import { redacted } from '../../../platform/log/structured-logger.js';
import { asciiJson } from './json.format.js';
import type { StreamedLeaf } from './streamed-leaf.js';

/** 0 to 10, 10 the most severe. */
const SEVERITY = { done: 3, refused: 6, failed: 7 } as const;
const TAMPERED = 10;
/** Line breaks have a spelling of their own in extensions; no other control character has one. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** A leaf in ArcSight's Common Event Format, version 0. `externalId` and `cn1` name it; `cs3` has the detail as JSON. */
export function cefOf(leaf: StreamedLeaf): string {
  const { log, number, kind, entryId, entry } = leaf;
  const action = entry === undefined ? 'audit-log.missing' : entry.action;
  const severity = isTampered(leaf) ? TAMPERED : (SEVERITY[entry?.outcome as keyof typeof SEVERITY] ?? SEVERITY.failed);
  const head = ['CEF:0', 'Sealwright', 'Sealwright', PRODUCT_VERSION, action, action, String(severity)];
  const source = entry?.source ?? '';
  const fields = {
    rt: entry === undefined ? undefined : Date.parse(entry.at),
    externalId: entryId,
    act: action,
    outcome: entry?.outcome,
    suid: entry?.actor.id,
    suser: entry?.actor.name,
    src: isIP(source) === 4 ? source : undefined,
    c6a2Label: isIP(source) === 6 ? 'Source IPv6 Address' : undefined,
    c6a2: isIP(source) === 6 ? source : undefined,
    cn1Label: 'number',
    cn1: number,
    cs1Label: 'log',
    cs1: log,
    cs2Label: 'target',
    cs2: entry && `${entry.target.kind} ${entry.target.id}`,
    cs3Label: 'detail',
    cs3: asciiJson(leaf.record ?? entry?.detail ?? {}),
    cs4Label: 'correlation',
    cs4: entry?.correlation,
    cs5Label: 'kind',
    cs5: kind,
  };
  const extension = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${extensionValue(String(value))}`);
  return `${head.map(headerField).join('|')}|${extension.join(' ')}`;
}

/** Whether the log says that somebody else changed it. */
export function isTampered({ kind }: StreamedLeaf): boolean {
  return kind === 'missing' || kind === 'foreign';
}

function headerField(text: string): string {
  return oneLine(text).replaceAll(/[\\|]/g, String.raw`\$&`);
}

function extensionValue(text: string): string {
  const escaped = redacted(text).replaceAll(/[\\=]/g, String.raw`\$&`);
  return oneLine(escaped.replaceAll('\n', String.raw`\n`).replaceAll('\r', String.raw`\r`));
}

function oneLine(text: string): string {
  return text.replaceAll(CONTROLS, ' ').toWellFormed();
}
