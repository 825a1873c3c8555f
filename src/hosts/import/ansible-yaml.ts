import {
  defineMappingTag,
  defineScalarTag,
  defineSequenceTag,
  FAILSAFE_SCHEMA,
  load,
  mapTag,
  mergeTag,
  seqTag,
  YAMLException,
} from 'js-yaml';
import { readAnsibleTree, Tagged } from './ansible-tree.js';
import { type ImportItem, type ImportBudget, ImportRefusal } from './import-result.js';

/** Maximum number of nodes that the expansion of aliases may add to the document. */
const MAX_UNFOLDED = 100_000;
const MAX_DEPTH = 1000;
const YAML = 'tag:yaml.org,2002:';

/** Schema that reads every value as a string: `08` is a name and `yes` is a word. Ansible and YAML tags do not change the type of a value. */
const SCHEMA = FAILSAFE_SCHEMA.withTags(
  mergeTag,
  ['!', YAML].flatMap((prefix) => [
    defineScalarTag(prefix, {
      matchByTagPrefix: true,
      resolve: (source, _isExplicit, tagName) =>
        tagName.startsWith(YAML) || tagName === '!unsafe' ? source : new Tagged(tagName),
      identify: () => false,
    }),
    defineSequenceTag(prefix, { ...seqTag, matchByTagPrefix: true, identify: () => false }),
    defineMappingTag(prefix, { ...mapTag, matchByTagPrefix: true, identify: () => false }),
  ]),
);

/** Reads an Ansible inventory in YAML. Throws ImportRefusal if the text is not valid YAML, with line and column, or has an unexpected structure. */
export function readAnsibleYaml(text: string, budget: ImportBudget): ImportItem[] {
  const document = documentOf(text);
  assertAffordable(document);
  return readAnsibleTree(document, budget, 'ansible-yaml');
}

function documentOf(text: string): unknown {
  try {
    return load(text, { schema: SCHEMA, json: true });
  } catch (error) {
    const { reason, mark } =
      error instanceof YAMLException ? error : { reason: 'the document cannot be parsed', mark: undefined };
    const at = mark === undefined ? '' : `line ${mark.line + 1}, column ${mark.column + 1}: `;
    throw new ImportRefusal('host-import.format', `is not valid ansible-yaml: ${at}${reason.slice(0, 200)}`);
  }
}

/**
 * Throws ImportRefusal if the document would be too large with all aliases expanded. The size is computed without expanding aliases, in time proportional to
 * the number of nodes. The size of a document that contains itself is infinite.
 */
function assertAffordable(document: unknown): void {
  const sizes = new Map<object, number>();
  const sizeOf = (node: unknown, depth: number): number => {
    if (typeof node !== 'object' || node === null) return 1;
    const known = sizes.get(node);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH) throw unfolded();
    sizes.set(node, Infinity); // until the size is known, so that a node that contains itself is infinite
    const size = Object.values(node).reduce<number>((sum, inner) => sum + sizeOf(inner, depth + 1), 1);
    sizes.set(node, size);
    return size;
  };
  const scalars = new Map<object, number>();
  const size = sizeOf(document, 0);
  for (const node of sizes.keys())
    scalars.set(node, Object.values(node).filter((inner) => typeof inner !== 'object' || inner === null).length);
  const written = [...scalars.values()].reduce((sum, count) => sum + count, sizes.size);
  if (size > written + MAX_UNFOLDED) throw unfolded();
}

function unfolded(): ImportRefusal {
  return new ImportRefusal(
    'host-import.too-large',
    'has aliases (*name) that expand to more than the limit: write each group once',
  );
}
