/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * screen.c - the screen of a terminal, with keys.
 */
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "frame.h"

#define SCREEN_ESCAPE 27
#define SCREEN_CLEAR ('U' & 31)
#define SCREEN_WORD ('W' & 31)
/* A line that is typed. */
#define SCREEN_INPUT 256

struct screen {
    struct top *top;
    struct frame frame;
    enum frame_view view;
    long selected;
    int paused, left;
    int typing; /* a filter */
    int fresh;  /* what is typed now takes the place of the filter that holds */
    char input[SCREEN_INPUT];
    char filter[SCREEN_INPUT]; /* that holds; "": none */
    int64_t due;               /* CLOCK_MONOTONIC, ms: of the next look */
};

static volatile sig_atomic_t screen_stop;

static void
screen_signal(int number)
{
    (void)number;
    screen_stop = 1;
}

static int64_t
screen_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- drawing ---- */

static void
screen_draw_line(int y, enum frame_look look, const char *text)
{
    static const int looks[] = {[FRAME_PLAIN] = A_NORMAL,
                                [FRAME_TITLE] = A_BOLD,
                                [FRAME_COLUMNS] = A_UNDERLINE,
                                [FRAME_SELECTED] = A_REVERSE,
                                [FRAME_ALARM] = A_BOLD | A_REVERSE};
    attrset(looks[look]);
    mvaddnstr(y, 0, text, COLS);
    attrset(A_NORMAL);
}

/* The last line: what is typed, what went wrong, or what can be done. */
static void
screen_draw_foot(const struct screen *s)
{
    char text[FRAME_LINE];
    if (s->typing)
        snprintf(text, sizeof(text), "show: %s%s", s->input,
                 s->fresh && *s->input ? "   (type to replace, Backspace to change, Enter to keep)" : "");
    else if (*s->top->message)
        snprintf(text, sizeof(text), "%s", s->top->message);
    else
        snprintf(text, sizeof(text), "%sh help  q quit  p pause  / show only%s%s  s order: %s",
                 s->paused ? "[paused]  " : "", *s->filter ? ": " : "", s->filter, top_sort_names[s->top->sort]);
    screen_draw_line(LINES - 1, FRAME_PLAIN, text);
}

static void
screen_draw(struct screen *s)
{
    erase();
    for (unsigned i = 0; i < s->frame.count; ++i)
        screen_draw_line((int)i, (enum frame_look)s->frame.looks[i], s->frame.lines[i]);
    screen_draw_foot(s);
    curs_set(s->typing);
    if (s->typing)
        move(LINES - 1, (int)strlen(s->input) + 6);
    refresh();
}

static void
screen_make(struct screen *s)
{
    const long last = (long)(s->top->flight_count < FRAME_ROWS_MOST ? s->top->flight_count : FRAME_ROWS_MOST) - 1;
    s->selected = s->selected > last ? last : s->selected;
    s->selected = s->selected < 0 ? 0 : s->selected; /* there may be none now, and one later */
    s->frame.width = (unsigned)COLS;
    s->frame.height = LINES > 1 ? (unsigned)LINES - 1 : 1;
    frame_make(&s->frame, s->top, s->view, s->selected);
}

/* ---- keys ---- */

/* The filter that was typed holds from now on, if it makes sense. */
static void
screen_filter(struct screen *s)
{
    struct sqt_where *where = NULL;
    char error[256];
    s->typing = 0;
    *s->top->message = '\0';
    if (*s->input && !(where = top_where_parse(s->input, error, sizeof(error)))) {
        snprintf(s->top->message, sizeof(s->top->message), "%s", error);
        return;
    }
    sqt_where_free(s->top->where);
    s->top->where = where;
    window_forget_requests(&s->top->window);
    top_ended_clear(s->top);
    snprintf(s->filter, sizeof(s->filter), "%s", s->input);
    top_flights(s->top);
}

/* Ctrl-W: the last word goes, and the spaces behind it. */
static void
screen_drop_word(char *input)
{
    size_t length = strlen(input);
    while (length && input[length - 1] == ' ')
        --length;
    while (length && input[length - 1] != ' ')
        --length;
    input[length] = '\0';
}

static void
screen_type(struct screen *s, int key)
{
    if (s->fresh && key >= ' ' && key < 127)
        *s->input = '\0';
    s->fresh = s->fresh && (key == ERR || key == KEY_RESIZE);
    const size_t length = strlen(s->input);
    if (key == SCREEN_CLEAR)
        *s->input = '\0';
    else if (key == SCREEN_WORD)
        screen_drop_word(s->input);
    else if (key == '\n' || key == '\r' || key == KEY_ENTER)
        screen_filter(s);
    else if (key == SCREEN_ESCAPE)
        s->typing = 0;
    else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length)
        s->input[length - 1] = '\0';
    else if (key >= ' ' && key < 127 && length + 1 < sizeof(s->input)) {
        s->input[length] = (char)key;
        s->input[length + 1] = '\0';
    }
}

/* Opens the waterfall of the request that is selected. */
static void
screen_open(struct screen *s)
{
    struct top_waterfall *const w = &s->top->waterfall;
    if (s->selected < 0 || (size_t)s->selected >= s->top->flight_count)
        return;
    const struct top_flight *const f = &s->top->flights[s->selected];
    *w = (struct top_waterfall){.wanted = 1, .xid = f->xid, .kid = f->kid};
    top_flights(s->top);
    s->view = FRAME_WATERFALL;
}

static void
screen_order(struct screen *s)
{
    s->top->sort = (enum top_sort)((s->top->sort + 1) % TOP_SORT_COUNT);
    top_flight_sort(s->top);
}

static void
screen_key(struct screen *s, int key)
{
    *s->top->message = '\0';
    if (key >= '0' && key <= '0' + TOP_TABLES)
        s->view = key == '0' ? FRAME_ALL : (enum frame_view)(FRAME_OF_TABLE + key - '1');
    else if (key == 'q')
        s->left = 1;
    else if (key == 'p' || key == ' ')
        s->paused = !s->paused;
    else if (key == 'h' || key == '?')
        s->view = FRAME_HELP;
    else if (key == 's')
        screen_order(s);
    else if (key == KEY_UP)
        s->selected -= s->selected > 0;
    else if (key == KEY_DOWN)
        ++s->selected;
    else if (key == KEY_PPAGE)
        s->selected -= LINES / 2;
    else if (key == KEY_NPAGE)
        s->selected += LINES / 2;
    else if (key == KEY_HOME)
        s->selected = 0;
    else if (key == KEY_END)
        s->selected = FRAME_ROWS_MOST;
    else if (key == '\n' || key == '\r' || key == KEY_ENTER)
        screen_open(s);
    else if (key == SCREEN_ESCAPE)
        s->view = FRAME_ALL;
    else if (key == '/') {
        s->typing = s->fresh = 1;
        snprintf(s->input, sizeof(s->input), "%s", s->filter);
    }
}

/* ---- all of it ---- */

/* Whether the terminal is closed: then getch() waits for nothing. */
static int
screen_is_gone(void)
{
    struct pollfd in = {.fd = STDIN_FILENO};
    return poll(&in, 1, 0) > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Waits for a key until the next look is due. */
static void
screen_turn(struct screen *s)
{
    const int64_t wait = s->due - screen_now();
    timeout(wait > 0 ? (int)(wait < 1000 ? wait : 1000) : 0);
    const int key = getch();
    if (key == ERR && screen_is_gone())
        s->left = 1;
    if (key != ERR && s->typing)
        screen_type(s, key);
    else if (key != ERR && key != KEY_RESIZE)
        screen_key(s, key);
    if (screen_now() >= s->due) {
        s->due = screen_now() + s->top->request->every / 1000000;
        if (s->paused)
            top_read(s->top);
        else
            top_look(s->top, 0);
    }
    if (!s->paused || key != ERR)
        screen_make(s);
    screen_draw(s);
}

static void
screen_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = screen_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* Before the program ends in the middle of the screen. */
static void
screen_restore(void)
{
    endwin();
}

int
top_screen(struct top *top)
{
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        fputs("sqtrace-top: the standard input and output must be a terminal; --once prints the screen as text\n",
              stderr);
        return TOP_USAGE;
    }
    setlocale(LC_CTYPE, "");
    SCREEN *const terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        const char *const name = getenv("TERM");
        fprintf(stderr, "sqtrace-top: TERM=%s: this terminal is not known; --once prints the screen as text\n",
                name ? name : "");
        return TOP_USAGE;
    }
    struct screen *const s = sqt_zeroed(1, sizeof(*s));
    s->top = top;
    if (top->request->given[TOP_where])
        snprintf(s->filter, sizeof(s->filter), "%s", top->request->given[TOP_where]);
    screen_signals();
    sqt_before_no_memory(screen_restore);
    top->drawn = 1;
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    while (!screen_stop && !s->left)
        screen_turn(s);
    sqt_before_no_memory(NULL);
    endwin();
    delscreen(terminal);
    free(s);
    return TOP_DONE;
}
