import { type JsonMembers, memberTextOf } from '../../model/json.js';
import { atIndex, isSameGuid, membersOf, objectsOf, refuse } from './sarif-values.js';

/** SarifRule is the rule to which a result refers: its identifier, and its description if the run contains one. */
export interface SarifRule {
  /** Identifier in the result, otherwise in the rule; '' if neither contains an identifier. */
  readonly id: string;
  /** Empty if the run does not describe the rule. */
  readonly descriptor: JsonMembers;
  /** Tool component that contains the rule. The component's `globalMessageStrings` also apply to the rule. */
  readonly component: JsonMembers;
}

/** SarifTaxon is a taxonomy entry to which a rule or result refers. */
export interface SarifTaxon {
  /** Name of the taxonomy, from the reference or the taxonomy itself. */
  readonly taxonomy: string;
  readonly id: string;
}

/** SarifTool contains the driver, extensions and taxonomies of one run (SARIF 2.1.0 sections 3.18, 3.19, 3.52 and 3.54). */
export class SarifTool {
  readonly name: string;
  private readonly driver: JsonMembers;
  private readonly extensions: readonly JsonMembers[];
  private readonly taxonomies: readonly JsonMembers[];
  private readonly byId = new Map<string, { descriptor: JsonMembers; component: JsonMembers }>();

  /** @throws Problem 422 if the driver has no name. */
  constructor(run: JsonMembers, pointer: string) {
    const tool = membersOf(run['tool']);
    this.driver = membersOf(tool['driver']);
    const { name } = this.driver;
    if (typeof name !== 'string') refuse(`${pointer}/tool/driver/name`, 'is missing');
    this.name = name;
    this.extensions = objectsOf(tool['extensions']);
    this.taxonomies = objectsOf(run['taxonomies']);
    for (const component of [this.driver, ...this.extensions])
      for (const descriptor of objectsOf(component['rules'])) {
        const id = memberTextOf(descriptor['id']);
        if (id !== '' && !this.byId.has(id)) this.byId.set(id, { descriptor, component });
      }
  }

  /** Finds the rule by `rule`, `ruleIndex` and `ruleId` (sections 3.27.5 to 3.27.7 and 3.52). */
  ruleOf(result: JsonMembers): SarifRule {
    const reference = membersOf(result['rule']);
    const id = memberTextOf(result['ruleId']) || memberTextOf(reference['id']);
    const component = this.component(reference['toolComponent']) ?? this.driver;
    const rules = objectsOf(component['rules']);
    const descriptor =
      atIndex(rules, reference['index']) ??
      atIndex(rules, result['ruleIndex']) ??
      rules.find(({ guid }) => isSameGuid(guid, reference['guid']));
    if (descriptor !== undefined) return { id: id || memberTextOf(descriptor['id']), descriptor, component };
    const found = this.byHierarchicalId(id);
    return { id, descriptor: found?.descriptor ?? {}, component: found?.component ?? component };
  }

  /** Returns the target of a reference in a rule's relationship or a result (sections 3.52 and 3.53). */
  taxonOf(reference: JsonMembers): SarifTaxon {
    const given = membersOf(reference['toolComponent']);
    const taxonomy = this.taxonomy(given);
    const taxa = [...objectsOf(taxonomy?.['taxa']), ...objectsOf(taxonomy?.['rules'])];
    const taxon = atIndex(taxa, reference['index']) ?? taxa.find(({ guid }) => isSameGuid(guid, reference['guid']));
    const id = memberTextOf(reference['id']) || memberTextOf(taxon?.['id']);
    return { taxonomy: memberTextOf(given['name']) || memberTextOf(taxonomy?.['name']), id };
  }

  /** Returns the description of a rule with the identifier `a/b/c`, found under `a/b/c`, `a/b` or `a` (section 3.5.4). */
  private byHierarchicalId(id: string) {
    for (let part = id; part !== ''; part = part.slice(0, Math.max(part.lastIndexOf('/'), 0))) {
      const found = this.byId.get(part);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns the component to which a reference refers: an extension by index, or any component by guid or name. Returns undefined for the driver. */
  private component(given: unknown): JsonMembers | undefined {
    const reference = membersOf(given);
    return atIndex(this.extensions, reference['index']) ?? pick([this.driver, ...this.extensions], reference);
  }

  /**
   * Returns the taxonomy to which a reference refers. An index may refer to the list of taxonomies or to the list of extensions, so a guid or name takes
   * precedence.
   */
  private taxonomy(reference: JsonMembers): JsonMembers | undefined {
    const all = [...this.taxonomies, ...this.extensions];
    const named = pick(all, reference);
    if (named !== undefined) return named;
    if (reference['guid'] !== undefined || reference['name'] !== undefined) return undefined;
    return atIndex(this.taxonomies, reference['index']) ?? atIndex(this.extensions, reference['index']);
  }
}

function pick(components: readonly JsonMembers[], { guid, name }: JsonMembers): JsonMembers | undefined {
  const same = components.find((component) => isSameGuid(component['guid'], guid));
  if (same !== undefined || typeof name !== 'string' || name === '') return same;
  return components.find((component) => component['name'] === name);
}
