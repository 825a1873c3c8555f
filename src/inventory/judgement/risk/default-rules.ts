import { ownProperty } from '../../../formats/encoding/own-property.js';
import type { Deadline } from '../../model/risk-verdict.js';
import type { Rule, RuleSet } from '../../model/rule-set.js';
import deadlinesFile from './deadlines.json' with { type: 'json' };
import rulesFile from './default-rules.json' with { type: 'json' };
import sourcesFile from './sources.json' with { type: 'json' };

/** A deadline in `deadlines.json`. The link is not stored, because it is derived from the document that sets the deadline. */
type StoredDeadline = Omit<Deadline, 'url'>;
type StoredRule = Omit<Rule, 'deadlines'> & { readonly deadlines: readonly string[] };

const DEADLINES = new Map(
  Object.entries(deadlinesFile.deadlines as Readonly<Record<string, StoredDeadline>>).map(([id, deadline]) => {
    const url = sourceUrl(deadline.authority);
    return [id, url === undefined ? deadline : { ...deadline, url }];
  }),
);

/** sourceUrl returns the link to a document that rules, deadlines and positions cite; undefined for any other document. */
export function sourceUrl(document: string): string | undefined {
  return ownProperty(sourcesFile.sources as Readonly<Record<string, string>>, document);
}

function ruleOf(stored: StoredRule): Rule {
  const deadlines = stored.deadlines.map((id) => {
    const deadline = DEADLINES.get(id);
    if (deadline === undefined)
      throw new Error(`rule ${stored.id} names the deadline "${id}", which is not in deadlines.json`);
    return deadline;
  });
  return { ...stored, deadlines };
}

/** DEFAULT_RULES are the built-in rules. */
export const DEFAULT_RULES: RuleSet = {
  edition: rulesFile.edition,
  rules: (rulesFile.rules as unknown as readonly StoredRule[]).map(ruleOf),
};
