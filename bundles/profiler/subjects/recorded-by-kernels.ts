import type { RecordedSubject } from '../record/recorded-subject.ts'
import { serverSubjects } from './recorded.ts'
import { templatesSubject } from './templates/record.ts'
import { validationSubject } from './validation/record.ts'

/** The subjects that the requests of a kernel record: also what only a kernel reports. */
export const kernelSubjects: readonly RecordedSubject[] = [...serverSubjects, templatesSubject, validationSubject]
