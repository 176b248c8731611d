import { UploadedFile } from 'sinfonietta'
import * as v from 'valibot'

const text = v.pipe(v.optional(v.string(), ''), v.trim())
const picture = v.pipe(
  v.instance(UploadedFile),
  v.check(({ size }) => size <= 2 ** 20, 'The picture is larger than 1 MB.'),
)

/** The form. */
export const messageSchema = v.object({
  name: v.pipe(text, v.minLength(1, 'Please enter your name.'), v.maxLength(100, 'This name is too long.')),
  text: v.pipe(
    text,
    v.minLength(10, 'Please write 10 characters or more.'),
    v.maxLength(5_000, 'Please write 5,000 characters at most.'),
  ),
  picture: v.optional(picture),
})

/** The content of the form. */
export type Message = v.InferOutput<typeof messageSchema>
