import { Label } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/i18n.js';
import { Facts } from './facts.js';
import { visibleText } from './visible-text.js';

/** What the issuer of a workload's token proved, as the API shows it and as the hash of an approval covers it. */
export interface Verified {
  readonly trust: { readonly name: string };
  readonly claims: Record<string, unknown>;
}

/** What people look at first; the other claims follow as they came. */
const FIRST = [
  'iss',
  'repository',
  'project_path',
  'ref',
  'sha',
  'workflow_ref',
  'job_workflow_ref',
  'runner_environment',
  'environment',
  'actor',
  'sub',
];

/** Whether this is an identity, and not whatever else a document may have under this name. */
export function isVerified(value: unknown): value is Verified {
  const { trust, claims } = (value ?? {}) as Partial<Verified>;
  return typeof trust === 'object' && typeof claims === 'object';
}

/** The claims by their own names, which are those of the build system. */
export function VerifiedIdentity({ identity: { trust, claims } }: { identity: Verified }) {
  const { t } = useI18n();
  const names = [
    ...FIRST.filter((name) => name in claims),
    ...Object.keys(claims).filter((name) => !FIRST.includes(name)),
  ];
  return (
    <Facts
      facts={[
        [t('verified.trust'), visibleText(trust.name)],
        ...names.map((name): [string, ReactNode] => [visibleText(name), <ClaimText key={name} value={claims[name]} />]),
      ]}
    />
  );
}

/** What names the source of a run, as far as its token has it. */
const SOURCES = ['repository', 'project_path', 'pipeline_slug', 'sub'];
const MOMENTS = ['ref', 'ref_path', 'branch'];

/** One line for lists: where a run comes from, set apart as verified. */
export function VerifiedLine({ identity: { claims } }: { identity: Verified }) {
  const { t } = useI18n();
  const first = (names: readonly string[]) => names.map((name) => claims[name]).find((one) => typeof one === 'string');
  const shown = visibleText([first(SOURCES), first(MOMENTS)].filter((one) => one !== undefined).join(' '));
  return (
    <Label color="green" icon={<CheckCircleIcon />} isCompact textMaxWidth="40ch">
      {t('verified.line', { shown })}
    </Label>
  );
}

function ClaimText({ value }: { value: unknown }) {
  return <span className="sw-mono">{visibleText(typeof value === 'string' ? value : JSON.stringify(value))}</span>;
}
