/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * notes.h - notes of transactions, which note= of sqtrace_log names: what %note{NAME} of a logformat prints.
 */
#ifndef SQT_SQUID_NOTES_H
#define SQT_SQUID_NOTES_H

#include "ids.h"

#include <cstring>

namespace Sqtrace
{

/// The values that a transaction has under one name, with commas between them, as %note prints them.  One value, which is
/// the rule, stays where it is.
class NoteValue
{
public:
    template <class Value>
    void add(const Value &value)
    {
        if (size_)
            append(value.rawContent(), value.length());
        else {
            text_ = value.rawContent();
            size_ = value.length();
        }
    }

    const char *text() const { return text_; }
    size_t size() const { return size_; }

private:
    /// what comes after the first; libsqtrace takes no more than fits
    void append(const char *text, const size_t size)
    {
        if (text_ != joined_) {
            size_ = size_ < sizeof(joined_) ? size_ : sizeof(joined_);
            memcpy(joined_, text_, size_);
            text_ = joined_;
        }
        if (size_ < sizeof(joined_))
            joined_[size_++] = ',';
        const size_t fits = size < sizeof(joined_) - size_ ? size : sizeof(joined_) - size_;
        memcpy(joined_ + size_, text, fits);
        size_ += fits;
    }

    const char *text_ = nullptr;
    size_t size_ = 0;
    char joined_[SQT_NOTE_VALUE + 4];
};

/// Whether a note has that name.  Names of one length seldom have the same last letter.
template <class Name>
inline bool
IsNamed(const Name &name, const sqt_note &named)
{
    if (name.length() != named.size)
        return false;
    const char *const text = name.rawContent();
    const size_t last = named.size - 1;
    return text[last] == named.name[last] && memcmp(text, named.name, last) == 0;
}

/// emits each note of the transaction that sqtrace_log names
template <class Notes>
__attribute__((noinline)) void
EmitNotes(const uint64_t xact, const Notes &notes)
{
    if (notes == nullptr)
        return;
    Moment moment;
    const auto &entries = notes->expandListEntries(nullptr); // as they are
    for (unsigned place = 0; place < sqt_note_count; ++place) {
        const sqt_note &named = sqt_notes[place];
        NoteValue value;
        for (const auto &entry : entries)
            if (IsNamed(entry->name(), named))
                value.add(entry->value());
        if (value.size())
            moment.emit(SQT_EV_NOTE, xact, sqt_note_number(place, value.text(), value.size()), 0);
    }
}

} // namespace Sqtrace

#endif
