import type { UseMutationResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/problem.js';
import { FormDialog } from './form-dialog.js';
import type { Values } from './form-fields.js';

interface ConfirmProps {
  readonly title: string;
  /** Consequences of the action. */
  readonly lead: string;
  readonly submit: string;
  readonly action: UseMutationResult<unknown, ApiProblem, Values>;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Confirm asks for confirmation of an action that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  return <FormDialog {...props} fields={[]} isDanger />;
}
