import { readAnsibleTree } from './ansible-tree.js';
import type { ImportItem } from './import-item.js';
import { type ImportBudget, ImportRefusal } from './import-limits.js';

/** Reads what `ansible-inventory --list` and scripts for dynamic inventories write. Throws ImportRefusal. */
export function readAnsibleJson(text: string, budget: ImportBudget): ImportItem[] {
  return readAnsibleTree(documentOf(text), budget, 'ansible-json');
}

function documentOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const position = /position (\d{1,9})/.exec(error instanceof Error ? error.message : '')?.[1];
    const before = position === undefined ? undefined : text.slice(0, Number(position)).split('\n');
    const at = before === undefined ? '' : `: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new ImportRefusal('host-import.format', `is no ansible-json${at}`);
  }
}
