import { Label } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/i18n.js';
import { Facts } from './facts.js';
import { visibleText } from './visible-text.js';

/** Verified is the verified identity of a workload, as returned by the API and covered by the approval hash. */
export interface Verified {
  readonly trust: { readonly name: string };
  readonly claims: Record<string, unknown>;
}

/** Claims shown first, because people check them first. Other claims keep their order. */
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

/** isVerified reports whether the value is a verified identity and not another member of the same name. */
export function isVerified(value: unknown): value is Verified {
  const { trust, claims } = (value ?? {}) as Partial<Verified>;
  return typeof trust === 'object' && typeof claims === 'object';
}

/** VerifiedIdentity shows the claims under the names that the build system uses. */
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

/** Claims that name the source of a run, if the token has them. */
const SOURCES = ['repository', 'project_path', 'pipeline_slug', 'sub'];
const MOMENTS = ['ref', 'ref_path', 'branch'];

/** VerifiedLine shows the source of a run on a single line, marked as verified. */
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
