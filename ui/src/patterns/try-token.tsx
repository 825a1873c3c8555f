import {
  Button,
  Form,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  Label,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextArea,
  TextInput,
} from '@patternfly/react-core';
import BanIcon from '@patternfly/react-icons/dist/esm/icons/ban-icon';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import { type UseMutationResult } from '@tanstack/react-query';
import { type SyntheticEvent, useId, useState } from 'react';
import type { ApiProblem } from '../api/problem.js';
import { useI18n } from '../i18n/i18n.js';
import { DataTable } from './data-table.js';
import { Problem } from './problem.js';
import { claimsIn } from './token-claims.js';

/** TriedVerdict is the decision of a trust or rule on the tested claims. */
export interface TriedVerdict {
  readonly id: string;
  readonly name: string;
  readonly accepted: boolean;
  readonly fault?: string;
  readonly claim?: string;
  readonly wanted?: readonly string[];
  readonly given?: readonly string[];
  /** What access would be granted, or a reason unrelated to a claim. */
  readonly detail?: string;
}

export interface TriedCaller {
  readonly subject: 'workload' | 'person';
  readonly claims: Record<string, unknown>;
}

interface TryTokenProps {
  readonly lead: string;
  /** Heading of the column of trusts or rules. */
  readonly column: string;
  readonly none: string;
  readonly isForPeople?: boolean;
  readonly action: UseMutationResult<readonly TriedVerdict[], ApiProblem, TriedCaller>;
  readonly onClose: () => void;
}

/** TryToken tests a token. The browser extracts the claims, so the token is not sent, and the service does not store the claims. */
export function TryToken({ lead, column, none, isForPeople = false, action, onClose }: TryTokenProps) {
  const { t } = useI18n();
  const id = useId();
  const [subject, setSubject] = useState<TriedCaller['subject']>('workload');
  const [text, setText] = useState('');
  const [isUnreadable, setUnreadable] = useState(false);
  const isPerson = subject === 'person';
  const send = (event: SyntheticEvent) => {
    event.preventDefault();
    const claims = isPerson ? { email: text.trim() } : claimsIn(text);
    setUnreadable(claims === undefined);
    if (claims !== undefined) action.mutate({ subject, claims });
  };
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby={`${id}-title`}>
      <ModalHeader title={t('claims.try')} description={lead} labelId={`${id}-title`} />
      <ModalBody>
        <Form id={id} onSubmit={send}>
          {action.isError && <Problem error={action.error} />}
          {isForPeople && (
            <FormGroup label={t('claims.caller')} fieldId={`${id}-who`}>
              <FormSelect
                id={`${id}-who`}
                value={subject}
                onChange={(_event, chosen) => {
                  setSubject(chosen as TriedCaller['subject']);
                  setText('');
                  action.reset();
                }}
              >
                <FormSelectOption value="workload" label={t('loginSubject.workload')} />
                <FormSelectOption value="person" label={t('loginSubject.person')} />
              </FormSelect>
            </FormGroup>
          )}
          <FormGroup label={t(isPerson ? 'claims.email' : 'claims.token')} isRequired fieldId={`${id}-text`}>
            {isPerson ? (
              <TextInput
                id={`${id}-text`}
                type="email"
                isRequired
                value={text}
                onChange={(_event, written) => setText(written)}
              />
            ) : (
              <TextArea
                id={`${id}-text`}
                className="sw-mono"
                rows={6}
                resizeOrientation="vertical"
                spellCheck={false}
                autoComplete="off"
                isRequired
                autoFocus
                value={text}
                onChange={(_event, written) => setText(written)}
              />
            )}
            <FormHelperText>
              <HelperText>
                <HelperTextItem variant={isUnreadable ? 'error' : 'default'}>
                  {t(isUnreadable ? 'claims.unreadable' : isPerson ? 'claims.email.hint' : 'claims.token.hint')}
                </HelperTextItem>
              </HelperText>
            </FormHelperText>
          </FormGroup>
        </Form>
        <div role="status">
          {action.data !== undefined && <Verdicts column={column} none={none} verdicts={action.data} />}
        </div>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form={id} isLoading={action.isPending} isDisabled={action.isPending}>
          {t('claims.try.submit')}
        </Button>
        <Button variant="link" onClick={onClose}>
          {t('close')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

interface VerdictsProps {
  readonly column: string;
  readonly none: string;
  readonly verdicts: readonly TriedVerdict[];
}

function Verdicts({ column, none, verdicts }: VerdictsProps) {
  const { t } = useI18n();
  return (
    <DataTable<TriedVerdict>
      name={t('claims.result')}
      rows={verdicts}
      rowKey={({ id }) => id}
      empty={<p className="sw-muted">{none}</p>}
      columns={[
        { name: column, width: 25, cell: ({ name }) => <strong>{name}</strong> },
        { name: t('claims.result'), width: 15, cell: ({ accepted }) => <Result accepted={accepted} /> },
        { name: t('claims.reason'), cell: (verdict) => <Why verdict={verdict} /> },
      ]}
    />
  );
}

function Result({ accepted }: { accepted: boolean }) {
  const { t } = useI18n();
  return (
    <Label color={accepted ? 'green' : 'grey'} icon={accepted ? <CheckCircleIcon /> : <BanIcon />} isCompact>
      {t(accepted ? 'claims.accepted' : 'claims.refused')}
    </Label>
  );
}

/** Why shows the first reason. For a claim, it also shows the expected and the actual values. */
function Why({ verdict: { fault, claim, wanted = [], given = [], detail } }: { verdict: TriedVerdict }) {
  const { t, named } = useI18n();
  if (claim === undefined) return <>{[fault && named('claimFault', fault), detail].filter(Boolean).join(' ') || '–'}</>;
  return (
    <>
      {t('claims.unmet', { claim })}
      <div>
        <span className="sw-muted">{t('claims.expected')}</span> <span className="sw-mono">{wanted.join(', ')}</span>
      </div>
      <div>
        <span className="sw-muted">{t('claims.actual')}</span>{' '}
        {given.length === 0 ? t('claims.absent') : <span className="sw-mono">{given.join(', ')}</span>}
      </div>
    </>
  );
}
